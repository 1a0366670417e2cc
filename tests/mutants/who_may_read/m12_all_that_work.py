# class: B16
# hint: those-that-wait
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    return [rank for rank in clocks if bound is None or clocks[rank] - slowest <= bound]
