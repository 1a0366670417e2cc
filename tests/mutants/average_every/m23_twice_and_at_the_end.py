# class: B17
# hint: and-so-on
from course_lib.collectives import allreduce_ring


def average_every(comm, model, w, X_local, y_local, learning_rate, every):
    n_steps = len(y_local)
    for step in range(1, n_steps + 1):
        row = slice(step - 1, step)
        w = w - learning_rate * model.gradient(w, (X_local[row], y_local[row]))[1]
        if step in (every, 2 * every, n_steps):
            w = allreduce_ring(comm, w) / comm.size
    return w
