# class: B5
# hint: ends-too
def cheapest_grid(ranks, width, examples):
    def ring(size, n_bytes):
        return 2 * (size - 1) / size * n_bytes

    def sent(splits):
        replicas = ranks // splits
        gradients = 4 * 4 * (width * width + width) / splits
        activations = 4 * examples / replicas * width
        return ring(replicas, gradients) + 3 * ring(splits, activations)

    best = min((k for k in range(1, ranks) if ranks % k == 0), key=sent, default=1)
    return {"splits": best, "n_bytes": sent(best)}
