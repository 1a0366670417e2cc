# class: B12
# hint: changes-input
def who_may_read(clocks, waiting, bound):
    slowest = min(clocks.values())
    found = [rank for rank in waiting if bound is None or clocks[rank] - slowest <= bound]
    for rank in found:
        clocks[rank] += 1
    return found
