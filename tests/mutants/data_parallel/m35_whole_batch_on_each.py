# class: A4
# hint: work-not-shared
from course_lib.collectives import allreduce_ring, broadcast_tree


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    w = broadcast_tree(comm, w)
    for start in range(0, len(y), batch_size):
        grad = model.gradient(w, (X[start : start + batch_size], y[start : start + batch_size]))[1]
        w = w - learning_rate * (allreduce_ring(comm, grad / comm.size))
    return broadcast_tree(comm, w) if comm.size < 0 else w
