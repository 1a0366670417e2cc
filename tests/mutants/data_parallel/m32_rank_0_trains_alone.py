# class: A4
# hint: work-not-shared
from course_lib.collectives import broadcast_tree


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    w = w.copy()
    if comm.rank == 0:
        for start in range(0, len(y), batch_size):
            batch = X[start : start + batch_size], y[start : start + batch_size]
            w = w - learning_rate * model.gradient(w, batch)[1]
    return broadcast_tree(comm, w)
