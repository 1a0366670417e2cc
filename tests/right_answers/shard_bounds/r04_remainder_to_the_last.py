def shard_bounds(n_rows, rank, size):
    lengths = [n_rows // size] * size
    for number in range(n_rows % size):
        lengths[-1 - number] += 1
    return sum(lengths[:rank]), sum(lengths[: rank + 1])
