def run_order(comm, order, forward, backward, inputs):
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    n = len(order) // 2
    down = [None if first else comm.irecv(comm.rank - 1) for _ in range(n)]
    up = [None if last else comm.irecv(comm.rank + 1) for _ in range(n)]
    slopes, going = [None] * n, []
    for action in order:
        kind, m = action[0], int(action[1:])
        if kind == "F":
            y = forward(m, inputs[m] if first else down[m].wait())
            if not last:
                going.append(comm.isend(y, comm.rank + 1))
        else:
            slopes[m] = backward(m, None if last else up[m].wait())
            if not first:
                going.append(comm.isend(slopes[m], comm.rank - 1))
    for message in going:
        message.wait()
    return slopes
