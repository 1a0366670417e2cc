# class: B15
# hint: no-bytes
import math


def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    def step_s(n):
        return math.ceil(batch / n) * example_s + 2 * (n - 1) * latency_s

    best = min(range(1, batch + 1), key=step_s)
    return {"workers": best, "seconds": step_s(best)}
