# class: C9
# hint: cores-from-1
def losing_order(counts):
    others = [core for core, n in enumerate(counts[2:], 2) for _ in range(2 * n)]
    early = [0] * (2 * counts[0] - 2) + others
    return [1, *early, 1, 0, *[1] * (2 * counts[1] - 2), 0]
