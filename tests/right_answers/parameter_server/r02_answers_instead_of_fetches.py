def parameter_server(comm, w, gradient, learning_rate, steps):
    workers = list(range(1, comm.size))
    if comm.rank in workers:
        w = comm.recv(0)
        while steps:
            comm.send(gradient(w), 0)
            w = comm.recv(0)
            steps -= 1
        return w
    model = w.copy()
    for dst in workers:
        comm.send(model, dst)
    for _ in range(steps):
        gradients = [comm.recv(src) for src in workers]
        model = model - model.dtype.type(learning_rate) * sum(gradients)
        for dst in workers:
            comm.send(model, dst)
    return model
