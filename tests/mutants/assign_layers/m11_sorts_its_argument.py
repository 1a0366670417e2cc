# class: B12
# hint: changes-input
def assign_layers(sizes, n_shards):
    order = sorted(range(len(sizes)), key=lambda layer: -sizes[layer])
    sizes.sort()
    sizes.reverse()
    shard_of, loads = [0] * len(sizes), [0] * n_shards
    for layer, size in zip(order, sizes, strict=True):
        shard_of[layer] = loads.index(min(loads))
        loads[shard_of[layer]] += size
    return shard_of
