# class: B9
# hint: waits-in-rank-order
def asynchronous_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w, workers = w.copy(), range(1, comm.size)
    for dst in workers:
        comm.send(w, dst)
    for step in range(steps):
        for src in workers:
            w -= learning_rate * comm.recv(src)
            if step < steps - 1:
                comm.send(w, src)
    for dst in workers:
        comm.send(w, dst)
    return w
