# class: B7
# hint: uneven


def shard_bounds(n_rows, rank, size):
    length = n_rows // size
    return rank * length, n_rows if rank == size - 1 else (rank + 1) * length
