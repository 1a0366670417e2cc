def shard_bounds(n_rows, rank, size):
    length, rest = divmod(n_rows, size)
    start = rank * length + min(rank, rest)
    return start, start + length + (1 if rank < rest else 0)
