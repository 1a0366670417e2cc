# class: B4
# hint: second-interruption
def losing_order(counts):
    others = [core for core, n in enumerate(counts[2:], 3) for _ in range(2 * n)]
    early = [1] * (2 * counts[0] - 2) + others
    return [2, *early, 2, *[2] * (2 * counts[1] - 2), 1, 1]
