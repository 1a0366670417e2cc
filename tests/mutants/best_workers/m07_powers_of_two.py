# class: B5
# hint: powers-of-two
import math


def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    def step_s(n):
        return math.ceil(batch / n) * example_s + 2 * (n - 1) * (
            latency_s + n_bytes / n / bandwidth_bytes_per_s
        )

    best = min([2**k for k in range(20) if 2**k <= batch], key=step_s)
    return {"workers": best, "seconds": step_s(best)}
