# class: A1
# hint: all-on-one
def assign_layers(sizes, n_shards):
    return [0 for _ in sizes]
