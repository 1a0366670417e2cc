# class: C2
# hint: no-intercept


def partial_sums(w, X_local, y_local):
    return X_local.T @ (w[0] + X_local @ w[1:] - y_local)
