# class: B7
# hint: left-over
def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    total, each = 0.0, len(y) // microbatches
    for m in range(microbatches):
        part = slice(m * each, (m + 1) * each)
        total = total + each / microbatches * gradient(w, X[part], y[part])
    return w - learning_rate * total
