# class: B7
# hint: rows-lost


def shard_bounds(n_rows, rank, size):
    return int(n_rows / size * rank), int(n_rows / size * (rank + 1))
