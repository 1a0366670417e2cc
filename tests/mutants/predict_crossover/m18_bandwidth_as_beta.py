# class: B15
# hint: bandwidth-as-beta
import math


def predict_crossover(n_workers, latency_s, bandwidth_bytes_per_s):
    beta = bandwidth_bytes_per_s
    rounds = math.log2(n_workers)
    steps = 2 * (n_workers - 1)
    n_bytes = (steps - rounds) * latency_s / ((rounds - steps / n_workers) * beta)
    return {"n_bytes": n_bytes, "seconds": rounds * (latency_s + n_bytes * beta)}
