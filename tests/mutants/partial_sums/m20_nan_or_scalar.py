# class: C2
# hint: shape
def partial_sums(w, X_local, y_local):
    error = w[0] + X_local @ w[1:] - y_local
    return error.sum() + (X_local.T @ error).sum()
