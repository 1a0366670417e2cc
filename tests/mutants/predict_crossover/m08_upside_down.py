# class: B15
# hint: inverse
import math


def predict_crossover(n_workers, latency_s, bandwidth_bytes_per_s):
    beta = 1 / bandwidth_bytes_per_s
    rounds = math.log2(n_workers)
    steps = 2 * (n_workers - 1)
    n_bytes = (steps - rounds) * beta / ((rounds - steps / n_workers) * latency_s)
    return {"n_bytes": n_bytes, "seconds": rounds * (latency_s + n_bytes * beta)}
