# class: B7
# hint: negative


def shard_bounds(n_rows, rank, size):
    length = n_rows // size
    return rank * length, length
