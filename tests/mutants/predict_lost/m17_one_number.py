# class: C2
# hint: not-a-dict
def predict_lost(n_workers, n_columns, n_touched):
    return 1 - 1 / n_workers
