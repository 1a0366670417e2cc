# class: B5
# hint: round-robin
def assign_layers(sizes, n_shards):
    return [layer % n_shards for layer in range(len(sizes))]
