# class: B16
# hint: died-is-not-lost


def lost_or_twice(history):
    busy, losses, dead = {}, {}, set()
    for what, worker, trial in history:
        if what == "given":
            busy[worker] = trial
        elif what == "loss":
            losses[trial] = losses.get(trial, 0) + 1
            busy.pop(worker, None)
        elif worker in busy:
            dead.add(busy[worker])
    found = [(trial, "lost") for trial in dead]
    return sorted(found + [(trial, "twice") for trial, n in losses.items() if n > 1])
