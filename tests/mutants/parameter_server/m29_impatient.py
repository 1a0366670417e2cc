# class: B13
# hint: answers-early


def parameter_server(comm, w, gradient, learning_rate, steps):
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    for dst in workers:
        comm.send(w, dst)
    for _ in range(steps):
        for src in workers:
            w = w - learning_rate * comm.recv(src)
            comm.send(w, src)
    return w
