def asynchronous_server(comm, w, gradient, learning_rate, steps):
    return serve(comm, w, learning_rate, steps) if comm.rank == 0 else work(comm, gradient, steps)


def work(comm, gradient, steps):
    w = comm.recv(0)
    for _ in range(steps):
        w = comm.sendrecv(gradient(w), dst=0, src=0)
    return w


def serve(comm, start, learning_rate, steps):
    w = start * 1
    workers = list(range(1, comm.size))
    answer, pushed = list(workers), []
    for _ in range(steps * len(workers)):
        for dst in answer:
            comm.send(w, dst)
        src, grad = comm.recv_any()
        w = w - (learning_rate * grad).astype(w.dtype)
        pushed.append(src)
        answer = [src] if pushed.count(src) < steps else []
    for dst in reversed(workers):
        comm.send(w, dst)
    return w
