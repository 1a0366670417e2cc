# class: B11
# hint: once


def asha_next(done, promoted, n_begun, n, eta):
    for rung in reversed(range(len(done) - 1)):
        ranked = sorted(done[rung], key=lambda trial: (done[rung][trial], trial))
        for trial in ranked[: len(ranked) // eta]:
            return trial, rung + 1
    return (n_begun, 0) if n_begun < n else ()
