def asha_next(done, promoted, n_begun, n, eta):
    rung = len(done) - 1
    while rung:
        rung -= 1
        losses, found = done[rung], []
        for trial, loss in losses.items():
            better = sum((other, k) < (loss, trial) for k, other in losses.items())
            if better < len(losses) // eta and trial not in promoted[rung]:
                found.append((better, trial))
        if found:
            return min(found)[1], rung + 1
    if n_begun < n:
        return n_begun, 0
    return ()
