# class: B16
# hint: returns-early
def asynchronous_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w, left = w.copy(), dict.fromkeys(range(1, comm.size), steps)
    for dst in left:
        comm.send(w, dst)
    for _ in range(steps):
        src, grad = comm.recv_any()
        w -= learning_rate * grad
        left[src] -= 1
        if left[src]:
            comm.send(w, src)
    for dst in left:
        comm.send(w, dst)
    return w
