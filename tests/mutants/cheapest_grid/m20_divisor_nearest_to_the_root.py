# class: B5
# hint: nearest
def cheapest_grid(ranks, width, examples):
    def ring(size, n_bytes):
        return 2 * (size - 1) / size * n_bytes

    def sent(splits):
        replicas = ranks // splits
        gradients = 4 * 4 * (width * width + width) / splits
        activations = 4 * examples / replicas * width
        return ring(replicas, gradients) + 3 * ring(splits, activations)

    root = (4 * (width + 1) * ranks / (3 * examples)) ** 0.5
    best = min((k for k in range(1, ranks + 1) if ranks % k == 0), key=lambda k: abs(k - root))
    return {"splits": best, "n_bytes": sent(best)}
