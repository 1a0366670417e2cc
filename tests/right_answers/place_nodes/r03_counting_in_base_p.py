import numpy as np


def place_nodes(inputs, us, n_workers, message_us):
    n = len(us)
    best, least = None, None
    for number in range(n_workers**n):
        ranks = [number // n_workers**k % n_workers for k in range(n)]
        end, free = np.zeros(n, dtype=int), np.zeros(n_workers, dtype=int)
        for k in range(n):
            ready = [end[u] + (0 if ranks[u] == ranks[k] else message_us) for u in inputs[k]]
            end[k] = free[ranks[k]] = max([free[ranks[k]], *ready]) + us[k]
        if least is None or end.max() <= least:
            best, least = ranks, end.max()
    return np.array(best)
