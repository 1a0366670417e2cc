import numpy as np

from course_lib.collectives import allreduce_ring


def average_every(comm, model, w, X_local, y_local, learning_rate, every):
    base, change = w, np.zeros_like(w)
    for step, (x, target) in enumerate(zip(X_local, y_local, strict=True), start=1):
        grad = model.gradient(base + change, (x[None], np.array([target])))[1]
        change = change - learning_rate * grad
        if step % every == 0 or step == len(y_local):
            base, change = base + allreduce_ring(comm, change) / comm.size, np.zeros_like(w)
    return base
