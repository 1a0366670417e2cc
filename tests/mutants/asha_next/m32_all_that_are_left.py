# class: B4
# hint: one-trial
def asha_next(done, promoted, n_begun, n, eta):
    for rung in reversed(range(len(done) - 1)):
        ranked = sorted(done[rung], key=lambda trial: (done[rung][trial], trial))
        left = [trial for trial in ranked[: len(ranked) // eta] if trial not in promoted[rung]]
        if left:
            return left, rung + 1
    return (n_begun, 0) if n_begun < n else ()
