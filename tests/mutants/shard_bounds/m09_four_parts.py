# class: B5
# hint: rows-lost


def shard_bounds(n_rows, rank, size):
    return rank * n_rows // 4, (rank + 1) * n_rows // 4
