# class: B4
# hint: until-the-end
from collections import Counter


def lost_or_twice(history):
    losses = Counter(trial for what, _, trial in history if what == "loss")
    given = sorted({trial for what, _, trial in history if what == "given"})
    over = bool(history) and history[-1][0] != "died"
    found = []
    for trial in given:
        if losses[trial] > 1:
            found.append((trial, "twice"))
        elif losses[trial] == 0 and over:
            found.append((trial, "lost"))
    return found
