# class: B18
# hint: does-not-fit
def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    return w - learning_rate * gradient(w, X, y)
