# class: B5
# hint: round-robin
def assign_layers(sizes, n_shards):
    each = max(1, -(-len(sizes) // n_shards))
    return [layer // each for layer in range(len(sizes))]
