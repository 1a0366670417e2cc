# class: B7
# hint: exception


def shard_bounds(n_rows, rank, size):
    if n_rows < size:
        raise ValueError("more workers than rows")
    return rank * n_rows // size, (rank + 1) * n_rows // size
