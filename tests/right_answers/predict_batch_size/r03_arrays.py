import numpy as np


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    sizes = np.arange(1, 10_000)
    steps = fewest_steps * (sizes + critical_size) / sizes
    times = steps * (step_us + example_us * sizes)
    k = np.argmin(times)
    return {"best_size": sizes[k], "steps": steps[k], "time_us": times[k]}
