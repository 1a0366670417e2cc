# class: C2
# hint: not-a-pair


def shard_bounds(n_rows, rank, size):
    return slice(rank * n_rows // size, (rank + 1) * n_rows // size)
