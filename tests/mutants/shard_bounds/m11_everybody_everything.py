# class: B10
# hint: rows-twice


def shard_bounds(n_rows, rank, size):
    return 0, n_rows
