def predict_lost(n_workers, n_columns, n_touched):
    kept = 0.0
    for _ in range(n_workers):
        kept += n_touched * (1 - kept / n_columns)  # of its stores, those that are of new columns
    stores = n_touched * n_workers
    return {
        "lost_share": (stores - kept) / stores,
        "stores": stores,
        "most_lost": stores - min(n_touched, n_columns),
    }
