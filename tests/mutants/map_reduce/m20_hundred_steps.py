# class: B5
# hint: fixed-steps
from course_lib.models.linear_regression import LinearRegression
from course_lib.training.shards import split_evenly


def combine(comm, grad_partial, w, step_size):
    if comm.rank > 0:
        comm.send(grad_partial, 0)
        return comm.recv(0)
    total = sum((comm.recv(src) for src in range(1, comm.size)), start=grad_partial.copy())
    new = w - step_size * total
    for dst in range(1, comm.size):
        comm.send(new, dst)
    return new


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    rows, model = split_evenly(len(y), comm.size)[comm.rank], LinearRegression(X.shape[1])
    w = model.initial()
    for _ in range(100):
        w = combine(comm, model.gradient_sum(w, (X[rows], y[rows]))[1], w, learning_rate / len(y))
    return w
