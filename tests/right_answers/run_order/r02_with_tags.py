def run_order(comm, order, forward, backward, inputs):
    pending, result = [], {}
    for kind, m in ((action[:1], int(action[1:])) for action in order):
        step = 1 if kind == "F" else -1
        src, dst = comm.rank - step, comm.rank + step
        given = comm.recv(src, tag=f"{kind}{m}") if 0 <= src < comm.size else None
        if kind == "F":
            made = forward(m, inputs[m] if given is None else given)
        else:
            made = result[m] = backward(m, given)
        if 0 <= dst < comm.size:
            pending.append(comm.isend(made, dst, tag=f"{kind}{m}"))
    [one.wait() for one in pending]
    return [result[m] for m in sorted(result)]
