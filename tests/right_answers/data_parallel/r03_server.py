import numpy as np

from course_lib.training.shards import split_evenly


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    others = range(1, comm.size)
    for start in range(0, len(y), batch_size):
        X_batch, y_batch = X[start : start + batch_size], y[start : start + batch_size]
        if comm.rank > 0:
            w = comm.recv(src=0)
        else:
            for dst in others:
                comm.send(w, dst)
        mine = split_evenly(len(y_batch), comm.size)[comm.rank]
        total, rows = np.zeros_like(w), y_batch[mine]
        if len(rows):
            total = len(rows) * model.gradient(w, (X_batch[mine], rows))[1]
        if comm.rank > 0:
            comm.send(total, dst=0)
            continue
        for src in others:
            total += comm.recv(src)
        w = w - learning_rate * total / len(y_batch)
    if comm.rank > 0:
        return comm.recv(src=0)
    for dst in others:
        comm.send(w, dst)
    return w
