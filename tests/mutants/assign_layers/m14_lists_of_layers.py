# class: C2
# hint: wrong-form
def assign_layers(sizes, n_shards):
    shards, loads = [[] for _ in range(n_shards)], [0] * n_shards
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        least = loads.index(min(loads))
        shards[least].append(layer)
        loads[least] += sizes[layer]
    return dict(enumerate(shards))
