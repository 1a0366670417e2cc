# class: C2
# hint: loads
def assign_layers(sizes, n_shards):
    shard_of, loads = [0] * len(sizes), [0] * n_shards
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        shard_of[layer] = loads.index(min(loads))
        loads[shard_of[layer]] += sizes[layer]
    return loads
