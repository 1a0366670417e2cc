# class: B10
# hint: equal-sizes
def assign_layers(sizes, n_shards):
    loads, homes = [0] * n_shards, {}
    for size in sorted(sizes, reverse=True):
        homes[size] = loads.index(min(loads))
        loads[homes[size]] += size
    return [homes[size] for size in sizes]
