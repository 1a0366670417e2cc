# class: C9
# hint: wrong-names
def predict_rates(n_before, n_after):
    more = n_after / n_before
    return {"mean": more, "sum": 1 / more}
