# class: B6
# hint: who-sends
def run_order(comm, order, forward, backward, inputs):
    before, after, n = comm.rank - 1, comm.rank + 1, len(order) // 2
    xs = [comm.recv(before) for _ in range(n)] if before >= 0 else inputs
    back = [comm.recv(after) for _ in range(n)] if after < comm.size else [None] * n
    slopes = {}
    for action in order:
        m = int(action[1:])
        if action[0] == "F":
            y = forward(m, xs[m])
            if after < comm.size:
                comm.isend(y, after).wait()
        else:
            slopes[m] = backward(m, back[m])
            if before >= 0:
                comm.isend(slopes[m], before).wait()
    return [slopes[m] for m in range(n)]
