# class: C2
# hint: matrix-product
def gradient_step(w, X, y, learning_rate):
    return w - learning_rate * X.T @ (X @ w - y) / len(y)
