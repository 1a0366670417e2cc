# class: B15
# hint: averaged-twice
from course_lib.collectives import allreduce_ring


def average_every(comm, model, w, X_local, y_local, learning_rate, every):
    for step in range(1, len(y_local) + 1):
        row = slice(step - 1, step)
        w = w - learning_rate * model.gradient(w, (X_local[row], y_local[row]))[1]
        if step % every == 0:
            w = allreduce_ring(comm, w) / comm.size
    return allreduce_ring(comm, w) / comm.size
