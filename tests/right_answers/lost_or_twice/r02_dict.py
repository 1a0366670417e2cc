def lost_or_twice(history):
    n_losses = {}
    for what, _, trial in history:
        if what == "given":
            n_losses.setdefault(trial, 0)
        elif what == "loss":
            n_losses[trial] += 1
    return [[trial, "twice" if n else "lost"] for trial, n in sorted(n_losses.items()) if n != 1]
