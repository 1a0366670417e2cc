# class: B11
# hint: stuck
from course_lib.models.linear_regression import LinearRegression
from course_lib.training.shards import split_evenly


def combine(comm, grad_partial, w, step_size):
    if comm.rank > 0:
        comm.send(grad_partial, 0)
        return comm.recv(0)
    total = grad_partial.copy()
    for src in range(1, comm.size):
        comm.recv(src, out=total, op="sum")
    w = w - step_size * total
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    rows = split_evenly(len(y), comm.size)[comm.rank]
    model = LinearRegression(X.shape[1])
    w = model.initial()
    _, grad_partial = model.gradient_sum(w, (X[rows], y[rows]))
    for _ in range(steps):
        new = combine(comm, grad_partial, w, learning_rate / len(y))
    return new if steps else w
