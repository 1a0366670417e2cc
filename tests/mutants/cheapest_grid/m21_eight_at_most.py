# class: B5
# hint: every-divisor
def cheapest_grid(ranks, width, examples):
    def ring(size, n_bytes):
        return 2 * (size - 1) / size * n_bytes

    def sent(splits):
        replicas = ranks // splits
        gradients = 4 * 4 * (width * width + width) / splits
        activations = 4 * examples / replicas * width
        return ring(replicas, gradients) + 3 * ring(splits, activations)

    best = min((k for k in range(1, 9) if ranks % k == 0), key=sent)
    return {"splits": best, "n_bytes": sent(best)}
