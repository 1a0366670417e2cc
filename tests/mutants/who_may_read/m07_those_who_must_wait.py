# class: B16
# hint: who-must-wait
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    return [rank for rank in waiting if bound is not None and clocks[rank] - slowest > bound]
