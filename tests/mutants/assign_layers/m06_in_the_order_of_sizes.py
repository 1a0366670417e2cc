# class: C9
# hint: order-of-sizes
def assign_layers(sizes, n_shards):
    shard_of, loads = [], [0] * n_shards
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        shard_of.append(loads.index(min(loads)))
        loads[shard_of[-1]] += sizes[layer]
    return shard_of
