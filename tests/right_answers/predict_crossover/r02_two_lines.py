import numpy as np


def predict_crossover(n_workers, latency_s, bandwidth_bytes_per_s):
    P = n_workers
    butterfly = np.log2(P) * latency_s, np.log2(P) / bandwidth_bytes_per_s
    ring = 2 * (P - 1) * latency_s, 2 * (P - 1) / P / bandwidth_bytes_per_s
    n = (ring[0] - butterfly[0]) / (butterfly[1] - ring[1])
    return {"seconds": ring[0] + ring[1] * n, "n_bytes": n}
