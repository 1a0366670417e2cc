import numpy as np


def asha_next(done, promoted, n_begun, n, eta):
    for rung in range(len(done) - 2, -1, -1):
        trials = np.array(sorted(done[rung]), dtype=int)
        losses = np.array([done[rung][trial] for trial in trials])
        best = trials[np.argsort(losses, kind="stable")][: len(trials) // eta]
        left = best[~np.isin(best, promoted[rung])]
        if len(left):
            return int(left[0]), rung + 1
    return () if n_begun == n else (n_begun, 0)
