# class: B4
# hint: until-the-end
def lost_or_twice(history):
    losses, busy = {}, {}
    for k, (what, worker, trial) in enumerate(history):
        if what == "given":
            losses.setdefault(trial, 0)
            busy[worker] = trial
        elif what == "loss":
            losses[trial] += 1
        elif k == len(history) - 1:
            losses.pop(busy.get(worker))
    return [(k, "twice" if losses[k] else "lost") for k in sorted(losses) if losses[k] != 1]
