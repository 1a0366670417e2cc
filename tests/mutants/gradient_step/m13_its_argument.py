# class: A1
# hint: not-moved


def gradient_step(w, X, y, learning_rate):
    return w
