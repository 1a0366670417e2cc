# class: B15
# hint: fewest-steps
import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    needed = np.median(steps, axis=2)
    size, rate = np.unravel_index(needed.argmin(), needed.shape)
    return {
        "best_size": sizes[size],
        "best_rate": rates[rate],
        "time_us": needed[size, rate] * (step_us + example_us * sizes[size]),
        "rate_at_edge": rate in (0, len(rates) - 1),
    }
