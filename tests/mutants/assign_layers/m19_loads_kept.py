# class: B11
# hint: stale
loads = {}


def assign_layers(sizes, n_shards):
    shard_of = [None] * len(sizes)
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        least = min(range(n_shards), key=lambda shard: loads.get(shard, 0))
        shard_of[layer] = least
        loads[least] = loads.get(least, 0) + sizes[layer]
    return shard_of
