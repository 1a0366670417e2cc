# class: B5
# hint: middle-seed
import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    needed = np.sort(steps, axis=2)[:, :, min(1, steps.shape[2] - 1)]
    at = needed.argmin(axis=1)
    times_us = needed.min(axis=1) * (step_us + example_us * sizes)
    best = int(times_us.argmin())
    return {
        "best_size": int(sizes[best]),
        "best_rate": float(rates[at[best]]),
        "time_us": float(times_us[best]),
        "rate_at_edge": bool(at[best] in (0, len(rates) - 1)),
    }
