# class: C3
# hint: percent
def predict_lost(n_workers, n_columns, n_touched):
    kept = n_columns * (1 - (1 - n_touched / n_columns) ** n_workers)
    return {
        "stores": n_workers * n_touched,
        "most_lost": (n_workers - 1) * n_touched,
        "lost_share": 100 * (1 - kept / (n_workers * n_touched)),
    }
