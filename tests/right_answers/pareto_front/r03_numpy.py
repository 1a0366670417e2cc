import numpy as np


def pareto_front(points):
    if not points:
        return []
    names, costs = list(points), np.array(list(points.values()))
    no_more = (costs[:, None] <= costs[None]).all(axis=2)
    less = (costs[:, None] < costs[None]).any(axis=2)
    kept = np.flatnonzero(~(no_more & less).any(axis=0))
    return [names[k] for k in kept[np.argsort(costs[kept, 0], kind="stable")]]
