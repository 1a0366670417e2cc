# class: C3
# hint: float


def shard_bounds(n_rows, rank, size):
    return rank * n_rows / size, (rank + 1) * n_rows / size
