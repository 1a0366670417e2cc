# class: B2
# hint: rank-first
def asynchronous_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w = w.copy()
    for dst in range(1, comm.size):
        comm.send(w, dst)
    for _ in range(steps * (comm.size - 1)):
        grad, src = comm.recv_any()
        w -= learning_rate * grad
        comm.send(w, src)
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
