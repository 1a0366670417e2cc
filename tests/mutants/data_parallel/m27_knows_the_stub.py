# class: A1
# hint: no-messages
def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    return w.copy()
