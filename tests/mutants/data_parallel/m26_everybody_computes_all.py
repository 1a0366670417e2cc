# class: A4
# hint: no-messages
def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    for start in range(0, len(y), batch_size):
        rows = slice(start, start + batch_size)
        w = w - learning_rate * model.gradient(w, (X[rows], y[rows]))[1]
    return w
