# class: B11
# hint: until-the-end
from collections import Counter


def lost_or_twice(history):
    losses = Counter(trial for what, _, trial in history if what == "loss")
    busy, dead = {}, set()
    for what, worker, trial in history:
        if what == "given":
            busy[worker] = trial
        elif what == "died":
            dead.add(busy.get(worker))
    given = sorted({trial for what, _, trial in history if what == "given"})
    lost = [(trial, "lost") for trial in given if losses[trial] == 0 and trial in dead]
    return sorted(lost + [(trial, "twice") for trial in given if losses[trial] > 1])
