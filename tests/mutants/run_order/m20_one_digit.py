# class: B5
# hint: once-each


def run_order(comm, order, forward, backward, inputs):
    last, slopes, waiting = comm.size - 1, [], []
    for action in order:
        m = int(action[1])
        if action[0] == "F":
            y = forward(m, inputs[m] if comm.rank == 0 else comm.recv(comm.rank - 1))
            if comm.rank < last:
                waiting.append(comm.isend(y, comm.rank + 1))
        else:
            slope = backward(m, None if comm.rank == last else comm.recv(comm.rank + 1))
            slopes.append(slope)
            if comm.rank > 0:
                waiting.append(comm.isend(slope, comm.rank - 1))
    for sent in waiting:
        sent.wait()
    return slopes
