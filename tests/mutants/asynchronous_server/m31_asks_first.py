# class: B15
# hint: too-many-messages
import numpy as np


def asynchronous_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(np.zeros(1), 0)
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w, left = w.copy(), dict.fromkeys(range(1, comm.size), steps)
    has_asked = dict.fromkeys(left, False)
    while any(left.values()):
        src, message = comm.recv_any()
        if has_asked[src]:
            w -= learning_rate * message
            left[src] -= 1
        else:
            comm.send(w, src)
        has_asked[src] = not has_asked[src]
    for dst in left:
        comm.send(w, dst)
    return w
