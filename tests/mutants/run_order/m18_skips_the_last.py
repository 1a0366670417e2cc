# class: B7
# hint: not-every-action
def run_order(comm, order, forward, backward, inputs):
    before, after = comm.rank - 1, comm.rank + 1
    slopes, going = {}, []
    for action in order[:-1]:
        m = int(action[1:])
        if action[0] == "F":
            y = forward(m, comm.recv(before) if before >= 0 else inputs[m])
            if after < comm.size:
                going.append(comm.isend(y, after))
        else:
            slopes[m] = backward(m, comm.recv(after) if after < comm.size else None)
            if before >= 0:
                going.append(comm.isend(slopes[m], before))
    if before >= 0:
        going.append(comm.isend(slopes[0], before))
    if after < comm.size:
        comm.recv(after)
    slopes[len(slopes)] = slopes[0]
    for message in going:
        message.wait()
    return [slopes[m] for m in range(len(slopes))]
