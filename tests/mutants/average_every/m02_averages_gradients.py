# class: B17
# hint: each-step
from course_lib.collectives import allreduce_ring


def average_every(comm, model, w, X_local, y_local, learning_rate, every):
    for step in range(len(y_local)):
        row = slice(step, step + 1)
        grad = model.gradient(w, (X_local[row], y_local[row]))[1]
        w = w - learning_rate * allreduce_ring(comm, grad) / comm.size
    return w
