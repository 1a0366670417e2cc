# class: B16
# hint: from-the-start
def who_may_read(clocks, waiting, bound):
    return [rank for rank in waiting if bound is None or clocks[rank] <= bound]
