# class: B16
# hint: lost-too


def lost_or_twice(history):
    given = [trial for what, _, trial in history if what == "given"]
    return [(trial, "twice") for trial in sorted(set(given)) if given.count(trial) > 1]
