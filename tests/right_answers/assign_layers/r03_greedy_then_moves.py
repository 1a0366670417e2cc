def assign_layers(sizes, n_shards):
    homes, loads = [None] * len(sizes), [0] * n_shards
    left = list(range(len(sizes)))
    while left:
        layer = max(left, key=sizes.__getitem__)
        left.remove(layer)
        shard = min(range(n_shards), key=loads.__getitem__)
        homes[layer], loads[shard] = shard, loads[shard] + sizes[layer]
    for layer, home in enumerate(homes):
        other = min(range(n_shards), key=loads.__getitem__)
        if loads[other] + sizes[layer] < loads[home]:
            loads[home] -= sizes[layer]
            loads[other] += sizes[layer]
            homes[layer] = other
    return tuple(homes)
