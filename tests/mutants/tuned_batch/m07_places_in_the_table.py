# class: C9
# hint: index
import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    times_us = np.median(steps, axis=2) * (step_us + example_us * sizes)[:, None]
    size, rate = np.unravel_index(times_us.argmin(), times_us.shape)
    return {
        "best_size": size,
        "best_rate": rates[rate],
        "time_us": times_us[size, rate],
        "rate_at_edge": rate in (0, len(rates) - 1),
    }
