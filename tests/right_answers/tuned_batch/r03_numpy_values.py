import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    needed = np.median(steps, axis=2)
    time_us = needed.min(axis=1) * (step_us + example_us * sizes)
    best = np.argmin(time_us)
    rate = rates[np.argmin(needed[best])]
    return {
        "best_size": sizes[best],
        "best_rate": rate,
        "time_us": time_us[best],
        "rate_at_edge": np.isin(rate, rates[[0, -1]]),
    }
