# class: B16
# hint: zero-is-a-bound
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    return [rank for rank in waiting if not bound or clocks[rank] - slowest <= bound]
