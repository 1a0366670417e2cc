# class: B6
# hint: blocked-by-the-first
def who_may_read(clocks, waiting, bound):
    slowest, may = min(clocks.values()), []
    for rank in waiting:
        if bound is not None and clocks[rank] - slowest > bound:
            break
        may.append(rank)
    return may
