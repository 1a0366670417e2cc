# class: B7
# hint: stop-included


def shard_bounds(n_rows, rank, size):
    start, stop = rank * n_rows // size, (rank + 1) * n_rows // size
    return start, stop if rank == size - 1 else max(start, stop - 1)
