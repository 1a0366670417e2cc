import numpy as np


def lost_or_twice(history):
    if not history:
        return []
    kinds, _, trials = (np.array(column) for column in zip(*history, strict=True))
    n_trials = trials.max() + 1
    losses = np.bincount(trials[kinds == "loss"], minlength=n_trials)
    was_given = np.bincount(trials[kinds == "given"], minlength=n_trials) > 0
    wrong = np.flatnonzero(was_given & (losses != 1))
    return [(int(trial), "lost" if losses[trial] == 0 else "twice") for trial in wrong]
