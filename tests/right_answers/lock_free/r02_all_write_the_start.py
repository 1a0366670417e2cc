import numpy as np


def lock_free(comm, w, touched, gradient, step):
    n = len(w)
    counters = comm.shared_array(n + comm.size)
    made, shared = 0, comm.shared_array(n, w.dtype)
    np.copyto(shared, w)
    comm.barrier()
    for number in range(len(touched)):
        columns = list(touched[number])
        grad = gradient(shared.take(columns), number)
        values = shared.take(columns)
        counted = counters.take(columns)
        shared.put(columns, step(values, grad))
        counters.put(columns, counted + 1)
        made += len(columns)
    counters[n + comm.rank] = made
    comm.barrier()
    return np.array(shared), int(counters[n:].sum() - counters[:n].sum())
