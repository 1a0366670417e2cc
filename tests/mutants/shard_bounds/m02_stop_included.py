# class: B7
# hint: rows-twice


def shard_bounds(n_rows, rank, size):
    start, stop = rank * n_rows // size, (rank + 1) * n_rows // size
    return start, min(stop + 1, n_rows)
