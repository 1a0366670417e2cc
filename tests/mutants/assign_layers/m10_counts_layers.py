# class: B3
# hint: round-robin
def assign_layers(sizes, n_shards):
    shard_of, loads = [0] * len(sizes), [0] * n_shards
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        shard_of[layer] = loads.index(min(loads))
        loads[shard_of[layer]] += 1
    return shard_of
