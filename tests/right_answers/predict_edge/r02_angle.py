import math


def predict_edge(n_replicas, curvature):
    delay = n_replicas - 1
    angle = math.pi / (2 * delay + 1)
    rate = math.sqrt(2 - 2 * math.cos(angle)) / curvature
    return {"largest_rate": rate, "momentum": delay / n_replicas, "mean_staleness": delay}
