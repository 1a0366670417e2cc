def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    new = w.copy()
    for k in range(len(y)):
        new -= learning_rate / len(y) * gradient(w, X[k : k + 1], y[k : k + 1])
    return new
