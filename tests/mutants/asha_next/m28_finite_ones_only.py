# class: B4
# hint: infinite-counts
import math


def asha_next(done, promoted, n_begun, n, eta):
    for rung in range(len(done) - 2, -1, -1):
        there = [trial for trial in done[rung] if math.isfinite(done[rung][trial])]
        best = sorted(there, key=lambda trial: (done[rung][trial], trial))
        for trial in best[: len(there) // eta]:
            if trial not in promoted[rung]:
                return trial, rung + 1
    return (n_begun, 0) if n_begun < n else ()
