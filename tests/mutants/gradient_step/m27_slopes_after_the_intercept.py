# class: B11
# hint: new-intercept


def gradient_step(w, X, y, learning_rate):
    new = w.copy()
    new[0] -= learning_rate * (new[0] + X @ w[1:] - y).mean()
    new[1:] -= learning_rate * X.T @ (new[0] + X @ w[1:] - y) / len(y)
    return new
