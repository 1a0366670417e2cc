# class: B4
# hint: same-record
def lost_or_twice(history):
    losses = {trial: 0 for what, _, trial in history if what == "given"}
    for what, _, trial in set(history):
        if what == "loss":
            losses[trial] += 1
    return [(k, "twice" if losses[k] else "lost") for k in sorted(losses) if losses[k] != 1]
