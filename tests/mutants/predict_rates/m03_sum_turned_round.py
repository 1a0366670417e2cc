# class: B4
# hint: turned-round
def predict_rates(n_before, n_after):
    more = n_after / n_before
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": more,
        "own_batch_mean": more,
        "own_batch_sum": 1.0,
    }
