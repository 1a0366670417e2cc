# class: C3
# hint: rounded
def predict_rates(n_before, n_after):
    more = n_after / n_before
    fewer = n_before // n_after if n_before > n_after else 1 / more
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": fewer,
        "own_batch_mean": more,
        "own_batch_sum": 1.0,
    }
