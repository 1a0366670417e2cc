def parameter_server(comm, w, gradient, learning_rate, steps):
    def to_all(vector):
        for dst in reversed(range(1, comm.size)):
            comm.send(vector, dst)

    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    served = w + 0
    for _ in range(steps):
        to_all(served)
        total = served * 0
        for src in range(1, comm.size):
            comm.recv(src, out=total, op="sum")
        total *= learning_rate
        served -= total
    to_all(served)
    return served
