def lock_free(comm, w, touched, gradient, step):
    """Count at each store how many stores of others it overwrites."""
    shared = comm.shared_array(len(w), w.dtype)
    version = comm.shared_array(len(w), "int64")
    lost = comm.shared_array(comm.size, "int64")
    if comm.rank == 0:
        shared[...] = w
    comm.barrier()
    for number, mine in enumerate(touched):
        grad = gradient(shared[mine], number)
        values, before = shared[mine], version[mine].copy()
        new = step(values, grad)
        lost[comm.rank] += (version[mine] - before).sum()
        shared[mine] = new
        version[mine] = before + 1
    comm.barrier()
    return shared.copy(), int(lost.sum())
