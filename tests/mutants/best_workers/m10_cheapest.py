# class: C6
# hint: cheapest
import math


def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    def step_s(n):
        return math.ceil(batch / n) * example_s + 2 * (n - 1) * (
            latency_s + n_bytes / n / bandwidth_bytes_per_s
        )

    best = min(range(1, batch + 1), key=lambda n: n * step_s(n))
    return {"workers": best, "seconds": step_s(best)}
