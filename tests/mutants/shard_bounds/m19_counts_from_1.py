# class: B4
# hint: counts-from-0


def shard_bounds(n_rows, rank, size):
    return (rank - 1) * n_rows // size, rank * n_rows // size
