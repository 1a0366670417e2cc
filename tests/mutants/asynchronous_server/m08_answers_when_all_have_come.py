# class: B16
# hint: waits-for-all
def asynchronous_server(comm, w, gradient, learning_rate, steps):
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w = w.copy()
    for _ in range(steps):
        for dst in workers:
            comm.send(w, dst)
        for _ in workers:
            _, grad = comm.recv_any()
            w -= learning_rate * grad
    for dst in workers:
        comm.send(w, dst)
    return w
