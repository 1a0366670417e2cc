# class: B3
# hint: of-columns
def predict_lost(n_workers, n_columns, n_touched):
    kept = n_columns * (1 - (1 - n_touched / n_columns) ** n_workers)
    return {
        "stores": n_workers * n_touched,
        "most_lost": (n_workers - 1) * n_touched,
        "lost_share": (n_workers * n_touched - kept) / n_columns,
    }
