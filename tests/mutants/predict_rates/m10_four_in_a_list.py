# class: C9
# hint: not-a-dict
def predict_rates(n_before, n_after):
    more = n_after / n_before
    return [1.0, 1 / more, more, 1.0]
