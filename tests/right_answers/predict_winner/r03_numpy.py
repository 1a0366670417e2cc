import numpy as np


def predict_winner(n_workers, gradient_us, message_us, factor, n_sync, n_async):
    factors = np.ones(n_workers, dtype=int)
    factors[-1] = factor
    turns = 2 * message_us + gradient_us * factors
    slowest, second = int(turns[-1]), int(turns[-2])
    nobody = float(n_async / (1 / turns).sum())
    times = [n_sync * slowest, n_sync * second, nobody]
    return {
        "all_us": times[0],
        "but_one_us": times[1],
        "nobody_us": times[2],
        "first": int(np.argmin(times)),
    }
