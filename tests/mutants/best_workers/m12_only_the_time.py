# class: C2
# hint: wrong-names
import math


def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    def step_s(n):
        return math.ceil(batch / n) * example_s + 2 * (n - 1) * (
            latency_s + n_bytes / n / bandwidth_bytes_per_s
        )

    best = min(range(1, batch + 1), key=step_s)
    return {"seconds": step_s(best)}
