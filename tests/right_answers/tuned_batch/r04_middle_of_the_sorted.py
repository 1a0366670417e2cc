import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    in_order, n_seeds = np.sort(steps, axis=2), steps.shape[2]
    lower, upper = in_order[:, :, (n_seeds - 1) // 2], in_order[:, :, n_seeds // 2]
    times_us = (lower + upper) / 2 * (step_us + example_us * sizes)[:, np.newaxis]
    size, rate = np.unravel_index(times_us.argmin(), times_us.shape)
    return {
        "best_size": int(sizes[size]),
        "best_rate": float(rates[rate]),
        "time_us": float(times_us[size, rate]),
        "rate_at_edge": bool(rate in (0, len(rates) - 1)),
    }
