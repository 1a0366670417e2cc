# class: B9
# hint: any-worker


def lost_or_twice(history):
    losses = [(worker, trial) for what, worker, trial in history if what == "loss"]
    told = {trial for _, trial in losses}
    found = {(trial, "twice") for pair in losses for trial in pair[1:] if losses.count(pair) > 1}
    found |= {
        (trial, "lost") for what, _, trial in history if what == "given" and trial not in told
    }
    return sorted(found)
