# class: B3
# hint: one-rate
import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    times_us = np.median(steps, axis=2) * (step_us + example_us * sizes)[:, None]
    best = times_us[:, 0].argmin()
    return {
        "best_size": sizes[best],
        "best_rate": rates[0],
        "time_us": times_us[best, 0],
        "rate_at_edge": True,
    }
