import numpy as np


def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    n = np.arange(1, batch + 1)
    chunk_s = n_bytes / n / bandwidth_bytes_per_s
    steps = -(-batch // n) * example_s + 2 * (n - 1) * (latency_s + chunk_s)
    return {"workers": int(n[np.argmin(steps)]), "seconds": float(steps.min())}
