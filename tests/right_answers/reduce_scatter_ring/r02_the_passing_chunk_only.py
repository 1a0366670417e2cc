def reduce_scatter_ring(comm, array):
    rank, size = comm.rank, comm.size
    n = len(array)

    def rows(chunk):
        chunk %= size
        return slice(chunk * n // size, (chunk + 1) * n // size)

    passing = array[rows(rank - 1)].copy()
    for step in range(2, size + 1):
        passing = comm.sendrecv(passing, dst=(rank + 1) % size, src=(rank - 1) % size)
        passing = passing + array[rows(rank - step)]
    return passing
