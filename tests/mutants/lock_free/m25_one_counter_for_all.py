# class: B5
# hint: one-counter


def lock_free(comm, w, touched, gradient, step):
    shared = comm.shared_array(len(w), w.dtype)
    seen = comm.shared_array(len(w), "int64")
    made = comm.shared_array(1, "int64")
    if comm.rank == 0:
        shared[:] = w
    comm.barrier()
    for number, mine in enumerate(touched):
        grad = gradient(shared[mine], number)
        loaded, counted = shared[mine], seen[mine]
        shared[mine] = step(loaded, grad)
        seen[mine] = counted + 1
        made[0] += len(mine)
    comm.barrier()
    return shared.copy(), int(made[0] - seen.sum())
