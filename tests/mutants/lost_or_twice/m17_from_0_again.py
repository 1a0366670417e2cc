# class: B4
# hint: count-all
def lost_or_twice(history):
    losses = {}
    for what, _, trial in history:
        if what == "given":
            losses[trial] = 0
        elif what == "loss":
            losses[trial] += 1
    return [(k, "twice" if losses[k] else "lost") for k in sorted(losses) if losses[k] != 1]
