import math


def predict_crossover(n_workers, latency_s, bandwidth_bytes_per_s):
    rounds, steps = math.log2(n_workers), 2 * (n_workers - 1)
    exact = (steps - rounds) * latency_s * bandwidth_bytes_per_s / (rounds - steps / n_workers)
    n_bytes = math.ceil(exact)
    return {
        "n_bytes": n_bytes,
        "seconds": rounds * (latency_s + n_bytes / bandwidth_bytes_per_s),
    }
