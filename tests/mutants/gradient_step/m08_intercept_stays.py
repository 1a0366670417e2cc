# class: B7
# hint: no-intercept


def gradient_step(w, X, y, learning_rate):
    error = w[0] + X @ w[1:] - y
    new = w.copy()
    new[1:] -= learning_rate * X.T @ error / len(y)
    return new
