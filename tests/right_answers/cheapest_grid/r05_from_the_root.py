from itertools import pairwise


def cheapest_grid(ranks, width, examples):
    # of two divisors a and b the same is sent where the root of the slope is that of a * b
    def ring(size, n_bytes):
        return 2 * (size - 1) / size * n_bytes

    def sent(splits):
        replicas = ranks // splits
        gradients = 4 * 4 * (width * width + width) / splits
        activations = 4 * examples / replicas * width
        return ring(replicas, gradients) + 3 * ring(splits, activations)

    target = 4 * (width + 1) * ranks / (3 * examples)
    divisors = [k for k in range(1, ranks + 1) if ranks % k == 0]
    best = divisors[0]
    for a, b in pairwise(divisors):
        if a * b < target:
            best = b
    return {"splits": best, "n_bytes": sent(best)}
