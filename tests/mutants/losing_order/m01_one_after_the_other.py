# class: B4
# hint: nothing-lost
def losing_order(counts):
    return [core for core, n in enumerate(counts, 1) for _ in range(2 * n)]
