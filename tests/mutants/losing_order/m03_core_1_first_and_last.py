# class: B16
# hint: one-core-twice
def losing_order(counts):
    others = [core for core, n in enumerate(counts[1:], 2) for _ in range(2 * n)]
    return [1, *others, *[1] * (2 * counts[0] - 1)]
