# class: B7
# hint: rows-lost


def shard_bounds(n_rows, rank, size):
    length = n_rows // size
    return rank * length, (rank + 1) * length
