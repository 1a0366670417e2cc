# class: B5
# hint: all-cores
def losing_order(counts):
    early = [1] * (2 * counts[0] - 2)
    return [2, *early, 2, 1, *[2] * (2 * counts[1] - 2), 1]
