# class: B3
# hint: batch-stays
def predict_rates(n_before, n_after):
    more = n_after / n_before
    return {
        "same_batch_mean": more,
        "same_batch_sum": more,
        "own_batch_mean": more,
        "own_batch_sum": more,
    }
