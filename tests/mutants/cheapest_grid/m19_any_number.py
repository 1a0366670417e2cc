# class: B7
# hint: no-divisor
def cheapest_grid(ranks, width, examples):
    def ring(size, n_bytes):
        return 2 * (size - 1) / size * n_bytes

    def sent(splits):
        replicas = ranks // splits
        gradients = 4 * 4 * (width * width + width) / splits
        activations = 4 * examples / replicas * width
        return ring(replicas, gradients) + 3 * ring(splits, activations)

    best = min(range(1, ranks + 1), key=sent)
    return {"splits": best, "n_bytes": sent(best)}
