def shard_bounds(n_rows, rank, size):
    whole, rest = divmod(n_rows, size)
    lengths = [whole + (other < rest) for other in range(size)]
    return sum(lengths[:rank]), sum(lengths[: rank + 1])
