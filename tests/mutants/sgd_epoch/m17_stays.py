# class: A1
# hint: not-moved


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    return w.copy()
