# class: C2
# hint: rounded


def predict_rates(n_before, n_after):
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": round(n_before / n_after, 2),
        "own_batch_mean": round(n_after / n_before, 2),
        "own_batch_sum": 1.0,
    }
