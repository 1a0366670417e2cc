# class: B7
# hint: uneven


def shard_bounds(n_rows, rank, size):
    length = -(-n_rows // size)
    return min(rank * length, n_rows), min((rank + 1) * length, n_rows)
