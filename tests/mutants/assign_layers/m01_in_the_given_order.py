# class: B4
# hint: not-sorted
def assign_layers(sizes, n_shards):
    shard_of, loads = [0] * len(sizes), [0] * n_shards
    for layer in range(len(sizes)):
        shard_of[layer] = loads.index(min(loads))
        loads[shard_of[layer]] += sizes[layer]
    return shard_of
