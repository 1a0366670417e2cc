# class: B16
# hint: slowest-of-all
def who_may_read(clocks, waiting, bound):
    slowest = min((c for r, c in clocks.items() if r not in waiting), default=min(clocks.values()))
    return [rank for rank in waiting if bound is None or clocks[rank] - slowest <= bound]
