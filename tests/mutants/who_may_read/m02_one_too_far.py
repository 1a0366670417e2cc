# class: B4
# hint: one-too-far
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    return [rank for rank in waiting if bound is None or clocks[rank] - slowest <= bound + 1]
