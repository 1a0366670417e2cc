# class: B16
# hint: steps-alone


def parameter_server(comm, w, gradient, learning_rate, steps):
    others = range(1, comm.size)
    if comm.rank > 0:
        w = comm.recv(0)
        for _ in range(steps):
            comm.send(gradient(w), 0)
            w = w - learning_rate * gradient(w)
        return comm.recv(0)
    for again in (True, False):
        for dst in others:
            comm.send(w, dst)
        for src in [src for _ in range(steps) for src in others] if again else ():
            w = w - learning_rate * comm.recv(src)
    return w.copy()
