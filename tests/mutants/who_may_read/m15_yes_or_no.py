# class: C3
# hint: ranks
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    return [bound is None or clocks[rank] - slowest <= bound for rank in waiting]
