import math


def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    best, least = 1, batch * example_s
    for n in range(2, batch + 1):
        step = math.ceil(batch / n) * example_s
        step += 2 * (n - 1) * latency_s
        step += 2 * (n - 1) / n * n_bytes / bandwidth_bytes_per_s
        if step < least:
            best, least = n, step
    return {"workers": best, "seconds": least}
