# class: B4
# hint: two-turns-each
def losing_order(counts):
    return [core for core, n in enumerate(counts, 1) for _ in range(n)]
