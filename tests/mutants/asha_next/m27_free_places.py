# class: B4
# hint: no-places
def asha_next(done, promoted, n_begun, n, eta):
    for rung in range(len(done) - 2, -1, -1):
        free = len(done[rung]) // eta - len(promoted[rung])
        left = [(loss, trial) for trial, loss in done[rung].items() if trial not in promoted[rung]]
        if free > 0 and left:
            return min(left)[1], rung + 1
    return (n_begun, 0) if n_begun < n else ()
