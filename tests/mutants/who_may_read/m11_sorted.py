# class: C9
# hint: in-order
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    return [rank for rank in sorted(waiting) if bound is None or clocks[rank] - slowest <= bound]
