# class: B5
# hint: dense
def predict_lost(n_workers, n_columns, n_touched):
    return {
        "stores": n_workers * n_touched,
        "most_lost": (n_workers - 1) * n_touched,
        "lost_share": 1 - 1 / n_workers,
    }
