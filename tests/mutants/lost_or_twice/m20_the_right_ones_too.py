# class: B4
# hint: fine
def lost_or_twice(history):
    losses = {trial: 0 for what, _, trial in history if what == "given"}
    for what, _, trial in history:
        if what == "loss":
            losses[trial] += 1
    words = {0: "lost", 1: "right"}
    return [(k, words.get(losses[k], "twice")) for k in sorted(losses)]
