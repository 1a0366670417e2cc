# class: C3
# hint: float
def lock_free(comm, w, touched, gradient, step):
    shared = comm.shared_array(len(w), w.dtype)
    seen = comm.shared_array(len(w), "int64")
    n_stored = comm.shared_array(comm.size, "int64")
    if comm.rank == 0:
        shared[:] = w
    comm.barrier()
    for number, mine in enumerate(touched):
        grad = gradient(shared[mine], number)
        loaded, counted = shared[mine], seen[mine]
        shared[mine] = step(loaded, grad)
        seen[mine] = counted + 1
        n_stored[comm.rank] += len(mine)
    comm.barrier()
    return shared.copy(), float(n_stored.sum() - seen.sum())
