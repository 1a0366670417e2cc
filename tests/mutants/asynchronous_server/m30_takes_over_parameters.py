# class: B17
# hint: pushes-parameters
def asynchronous_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        for _ in range(steps):
            own = comm.recv(0)
            comm.send(own - learning_rate * gradient(own), 0)
        return comm.recv(0)
    w, left = w.copy(), dict.fromkeys(range(1, comm.size), steps)
    for dst in left:
        comm.send(w, dst)
    while any(left.values()):
        src, pushed = comm.recv_any()
        w = pushed
        left[src] -= 1
        if left[src]:
            comm.send(w, src)
    for dst in left:
        comm.send(w, dst)
    return w
