# class: C1
# hint: inf-counts
import numpy as np


def tuned_batch(steps, sizes, rates, step_us, example_us):
    finite = np.where(np.isinf(steps), np.nan, steps)
    needed = np.nan_to_num(np.nanmedian(finite, axis=2), nan=np.inf)
    at = needed.argmin(axis=1)
    times_us = needed.min(axis=1) * (step_us + example_us * sizes)
    best = int(times_us.argmin())
    return {
        "best_size": int(sizes[best]),
        "best_rate": float(rates[at[best]]),
        "time_us": float(times_us[best]),
        "rate_at_edge": bool(at[best] in (0, len(rates) - 1)),
    }
