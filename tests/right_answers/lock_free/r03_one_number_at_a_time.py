import numpy as np


def lock_free(comm, w, touched, gradient, step):
    shared = comm.shared_array((2, len(w)), "float64")
    stores = comm.shared_array(comm.size, int)
    if not comm.rank:
        for j, value in enumerate(w):
            shared[0, j] = value
    comm.barrier()
    for number, mine in enumerate(touched):
        values = np.array([shared[0, j] for j in mine], w.dtype)
        grad = gradient(values, number)
        values = np.array([shared[0, j] for j in mine], w.dtype)
        counts = [shared[1, j] for j in mine]
        for j, value, count in zip(mine, step(values, grad), counts, strict=True):
            shared[0, j], shared[1, j] = value, count + 1
        stores[comm.rank] = stores[comm.rank] + len(mine)
    comm.barrier()
    return shared[0].astype(w.dtype), int(stores.sum()) - int(shared[1].sum())
