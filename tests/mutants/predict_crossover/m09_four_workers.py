# class: A5
# hint: four-only
import math


def predict_crossover(n_workers, latency_s, bandwidth_bytes_per_s):
    beta = 1 / bandwidth_bytes_per_s
    rounds = math.log2(n_workers)
    n_bytes = 8 * latency_s / beta
    return {"n_bytes": n_bytes, "seconds": rounds * (latency_s + n_bytes * beta)}
