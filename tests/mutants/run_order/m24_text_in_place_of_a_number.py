# class: C3
# hint: number
def run_order(comm, order, forward, backward, inputs):
    before, after = comm.rank - 1, comm.rank + 1
    slopes, going = {}, []
    for action in order:
        m = action[1:]
        if action[0] == "F":
            y = forward(m, comm.recv(before) if before >= 0 else inputs[int(m)])
            if after < comm.size:
                going.append(comm.isend(y, after))
        else:
            slopes[m] = backward(m, comm.recv(after) if after < comm.size else None)
            if before >= 0:
                going.append(comm.isend(slopes[m], before))
    for message in going:
        message.wait()
    return list(slopes.values())
