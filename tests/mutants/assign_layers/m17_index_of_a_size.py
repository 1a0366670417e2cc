# class: B10
# hint: equal-sizes


def assign_layers(sizes, n_shards):
    homes, loads = [None] * len(sizes), [0] * n_shards
    for size in sorted(sizes, reverse=True):
        shard = loads.index(min(loads))
        homes[sizes.index(size)] = shard
        loads[shard] += size
    return homes
