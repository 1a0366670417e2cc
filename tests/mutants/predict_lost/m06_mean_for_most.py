# class: C2
# hint: mean-for-most
def predict_lost(n_workers, n_columns, n_touched):
    kept = n_columns * (1 - (1 - n_touched / n_columns) ** n_workers)
    return {
        "stores": n_workers * n_touched,
        "most_lost": n_workers * n_touched - kept,
        "lost_share": 1 - kept / (n_workers * n_touched),
    }
