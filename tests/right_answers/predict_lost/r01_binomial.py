from math import comb


def predict_lost(n_workers, n_columns, n_touched):
    p = n_touched / n_columns
    lost = 0.0
    for m in range(1, n_workers + 1):
        chance = comb(n_workers, m) * p**m * (1 - p) ** (n_workers - m)
        lost += n_columns * chance * (m - 1)
    stores = n_workers * n_touched
    return {"stores": stores, "most_lost": (n_workers - 1) * n_touched, "lost_share": lost / stores}
