# class: B16
# hint: fresh


def predict_edge(n_replicas, curvature):
    return {
        "mean_staleness": n_replicas - 1,
        "largest_rate": 2 / curvature,
        "momentum": 1 - 1 / n_replicas,
    }
