# class: B5
# hint: rung-0
def asha_next(done, promoted, n_begun, n, eta):
    for rung in range(len(done) - 2, 0, -1):
        best = sorted(done[rung], key=lambda trial: (done[rung][trial], trial))
        for trial in best[: len(done[rung]) // eta]:
            if trial not in promoted[rung]:
                return trial, rung + 1
    return (n_begun, 0) if n_begun < n else ()
