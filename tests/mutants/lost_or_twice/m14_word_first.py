# class: C9
# hint: pairs
from collections import Counter


def lost_or_twice(history):
    losses = Counter(trial for what, _, trial in history if what == "loss")
    given = {trial for what, _, trial in history if what == "given"}
    found = []
    for trial in sorted(given):
        if losses[trial] == 0:
            found.append((trial, "lost"))
        elif losses[trial] > 1:
            found.append((trial, "twice"))
    return [(why, trial) for trial, why in found]
