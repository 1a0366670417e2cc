# class: B4
# hint: wrong-number
def losing_order(counts):
    others = [core for core, n in enumerate(counts[2:], 3) for _ in range(2 * n)]
    early = [1] * (2 * counts[0] - 1) + others
    return [2, *early, 2, 1, *[2] * (2 * counts[1] - 2), 1]
