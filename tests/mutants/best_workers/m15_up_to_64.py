# class: B5
# hint: up-to-batch
import math


def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    def step_s(workers):
        chunk_s = n_bytes / workers / bandwidth_bytes_per_s
        return math.ceil(batch / workers) * example_s + 2 * (workers - 1) * (latency_s + chunk_s)

    best = min(range(1, min(batch, 64) + 1), key=step_s)
    return {"workers": best, "seconds": step_s(best)}
