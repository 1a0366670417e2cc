# class: B4
# hint: late-loss
def lost_or_twice(history):
    losses, dead = {}, set()
    for what, worker, trial in history:
        if what == "given":
            losses.setdefault(trial, 0)
            dead.discard(worker)
        elif what == "died":
            dead.add(worker)
        elif worker not in dead:
            losses[trial] += 1
    return [(k, "twice" if losses[k] else "lost") for k in sorted(losses) if losses[k] != 1]
