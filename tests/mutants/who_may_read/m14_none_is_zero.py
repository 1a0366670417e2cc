# class: B16
# hint: no-bound
def who_may_read(clocks, waiting, bound):
    bound = bound or 0
    slowest = min(clocks.values())
    return [rank for rank in waiting if clocks[rank] - slowest <= bound]
