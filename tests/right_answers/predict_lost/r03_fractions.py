from fractions import Fraction


def predict_lost(n_workers, n_columns, n_touched):
    untouched = (1 - Fraction(n_touched, n_columns)) ** n_workers
    stores = n_workers * n_touched
    lost = 1 - n_columns * (1 - untouched) / stores
    return {"stores": stores, "most_lost": stores - n_touched, "lost_share": float(lost)}
