# class: B7
# hint: stop-included


def shard_bounds(n_rows, rank, size):
    return rank * n_rows // size, (rank + 1) * n_rows // size - 1
