# class: B16
# hint: answers-early
def parameter_server(comm, w, gradient, learning_rate, steps):
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w = w.copy()
    for _ in range(steps):
        for worker in workers:
            comm.send(w, worker)
            w -= learning_rate * comm.recv(worker)
    for dst in workers:
        comm.send(w, dst)
    return w
