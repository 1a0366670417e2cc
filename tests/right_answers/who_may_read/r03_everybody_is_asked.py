import numpy as np


def who_may_read(clocks, waiting, bound):
    if bound is None:
        return list(waiting)
    may = []
    for rank in waiting:
        if all(clocks[rank] - clocks[other] <= bound for other in clocks):
            may.append(rank)
    return np.array(may, dtype=int)
