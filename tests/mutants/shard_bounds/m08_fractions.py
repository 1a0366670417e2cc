# class: C3
# hint: not-a-pair


def shard_bounds(n_rows, rank, size):
    return rank * n_rows / size, (rank + 1) * n_rows / size
