# class: B3
# hint: to-the-fullest
def assign_layers(sizes, n_shards):
    shard_of, loads = [0] * len(sizes), [0] * n_shards
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        shard_of[layer] = len(loads) - 1 - loads[::-1].index(max(loads))
        loads[shard_of[layer]] += sizes[layer]
    return shard_of
