# class: B16
# hint: fastest
def who_may_read(clocks, waiting, bound):
    slowest = max(clocks.values())
    return [rank for rank in waiting if bound is None or slowest - clocks[rank] <= bound]
