import heapq


def asha_next(done, promoted, n_begun, n, eta):
    candidates = []
    for rung, losses in enumerate(done[:-1]):
        best = heapq.nsmallest(
            len(losses) // eta, ((loss, trial) for trial, loss in losses.items())
        )
        candidates += [(-rung, loss, trial) for loss, trial in best if trial not in promoted[rung]]
    if candidates:
        rung, _, trial = min(candidates)
        return [trial, 1 - rung]
    if n_begun < n:
        return [n_begun, 0]
    return []
