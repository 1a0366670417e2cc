# class: B1
# hint: no-last-fetch
def parameter_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        mine = None
        for _ in range(steps):
            mine = comm.recv(0)
            comm.send(gradient(mine), 0)
        last = comm.recv(0)
        return last if mine is None else mine
    w = w.copy()
    for _ in range(steps):
        for dst in range(1, comm.size):
            comm.send(w, dst)
        w = w - learning_rate * sum(comm.recv(src) for src in range(1, comm.size))
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
