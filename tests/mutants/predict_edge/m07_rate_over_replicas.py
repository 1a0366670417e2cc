# class: B3
# hint: summed


def predict_edge(n_replicas, curvature):
    return {
        "mean_staleness": n_replicas - 1,
        "largest_rate": 2 / n_replicas / curvature,
        "momentum": 1 - 1 / n_replicas,
    }
