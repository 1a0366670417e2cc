# class: A1
# hint: no-bound
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    return [rank for rank in waiting if clocks[rank] - slowest <= bound]
