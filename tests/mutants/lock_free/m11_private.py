# class: A4
# hint: not-shared
import numpy as np


def lock_free(comm, w, touched, gradient, step):
    shared, seen, n_stored = w.copy(), np.zeros(len(w), int), np.zeros(comm.size, int)
    comm.barrier()
    for number, mine in enumerate(touched):
        grad = gradient(shared[mine], number)
        loaded, counted = shared[mine], seen[mine]
        shared[mine] = step(loaded, grad)
        seen[mine] = counted + 1
        n_stored[comm.rank] += len(mine)
    comm.barrier()
    return shared.copy(), int(n_stored.sum() - seen.sum())
