# class: B7
# hint: neighbours-only
def assign_layers(sizes, n_shards):
    homes, so_far = [], 0
    for size in sizes:
        so_far += size
        homes.append(-(-so_far * n_shards // sum(sizes)) - 1)
    return homes
