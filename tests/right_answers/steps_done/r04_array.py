import numpy as np


def steps_done(n_steps, every, deaths):
    steps, saved = [], 0
    for lasts in [*deaths, n_steps + 1]:
        end = min(saved + lasts, n_steps)
        steps.extend(range(saved + 1, end + 1))
        if end == n_steps:
            break
        saved = max(saved, end - end % every)
    return np.array(steps, dtype=int)
