# class: B16
# hint: slowest-of-all
def who_may_read(clocks, waiting, bound):
    slowest = min((clocks[rank] for rank in waiting), default=0)
    return [rank for rank in waiting if bound is None or clocks[rank] - slowest <= bound]
