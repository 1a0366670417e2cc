import numpy as np


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    below = max(1, int(np.floor(np.sqrt(step_us * critical_size / example_us))))
    times = {
        b: fewest_steps * (1 + critical_size / b) * (step_us + example_us * b)
        for b in (below, below + 1)
    }
    best = min(times, key=times.get)
    steps = fewest_steps + fewest_steps * critical_size / best
    return {"best_size": best, "steps": steps, "time_us": times[best]}
