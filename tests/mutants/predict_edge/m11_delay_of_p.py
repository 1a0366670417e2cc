# class: B4
# hint: delay
import numpy as np


def predict_edge(n_replicas, curvature):
    return {
        "mean_staleness": n_replicas - 1,
        "largest_rate": 2 * np.sin(np.pi / (4 * n_replicas + 2)) / curvature,
        "momentum": 1 - 1 / n_replicas,
    }
