# class: B1
# hint: result-dropped
def asynchronous_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        comm.recv(0)
        return None
    w, left = w.copy(), dict.fromkeys(range(1, comm.size), steps)
    for dst in left:
        comm.send(w, dst)
    while any(left.values()):
        src, grad = comm.recv_any()
        w -= learning_rate * grad
        left[src] -= 1
        if left[src]:
            comm.send(w, src)
    for dst in left:
        comm.send(w, dst)
    return w
