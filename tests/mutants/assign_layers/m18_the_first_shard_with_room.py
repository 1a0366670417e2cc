# class: B15
# hint: too-full
def assign_layers(sizes, n_shards):
    room = max(sum(sizes) / n_shards, max(sizes, default=0))
    shard_of, loads = [0] * len(sizes), [0] * n_shards
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        fits = [s for s in range(n_shards) if loads[s] + sizes[layer] <= room]
        shard = fits[0] if fits else loads.index(min(loads))
        shard_of[layer] = shard
        loads[shard] += sizes[layer]
    return shard_of
