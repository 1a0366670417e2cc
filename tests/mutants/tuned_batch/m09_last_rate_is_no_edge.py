# class: B5
# hint: edge
import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    times_us = np.median(steps, axis=2) * (step_us + example_us * sizes)[:, None]
    size, rate = np.unravel_index(times_us.argmin(), times_us.shape)
    return {
        "best_size": sizes[size],
        "best_rate": rates[rate],
        "time_us": times_us[size, rate],
        "rate_at_edge": rate == 0,
    }
