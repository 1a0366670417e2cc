# class: C2
# hint: one-step
from course_lib.collectives import allreduce_ring


def average_every(comm, model, w, X_local, y_local, learning_rate, every):
    w = w - learning_rate * model.gradient(w, (X_local, y_local))[1]
    return allreduce_ring(comm, w) / comm.size
