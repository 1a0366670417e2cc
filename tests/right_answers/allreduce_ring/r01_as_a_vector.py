def allreduce_ring(comm, array):
    rank, size = comm.rank, comm.size
    total = array.flatten()
    n = total.size

    def chunk(number):
        number %= size
        return total[number * n // size : (number + 1) * n // size]

    for step in range(size - 1):
        comm.sendrecv(
            chunk(rank - step), (rank + 1) % size, (rank - 1) % size,
            out=chunk(rank - step - 1), op="sum",
        )  # fmt: skip
    for step in range(size - 1):
        comm.sendrecv(
            chunk(rank + 1 - step), (rank + 1) % size, (rank - 1) % size, out=chunk(rank - step)
        )
    return total.reshape(array.shape)
