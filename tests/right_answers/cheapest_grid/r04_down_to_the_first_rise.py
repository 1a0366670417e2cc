def cheapest_grid(ranks, width, examples):
    def ring(size, n_bytes):
        return 2 * (size - 1) / size * n_bytes

    def sent(splits):
        replicas = ranks // splits
        gradients = 4 * 4 * (width * width + width) / splits
        activations = 4 * examples / replicas * width
        return ring(replicas, gradients) + 3 * ring(splits, activations)

    best = ranks
    for splits in (k for k in range(ranks - 1, 0, -1) if ranks % k == 0):
        if sent(splits) >= sent(best):
            break  # it falls down to the best, and rises from there
        best = splits
    return {"splits": best, "n_bytes": sent(best)}
