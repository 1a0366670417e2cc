import math


def who_may_read(clocks, waiting, bound):
    limit = min(clocks.values()) + (math.inf if bound is None else bound)
    return list(filter(lambda rank: clocks[rank] <= limit, waiting))
