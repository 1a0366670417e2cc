# class: B18
# hint: last-has-the-loss
def run_order(comm, order, forward, backward, inputs):
    before, after = comm.rank - 1, comm.rank + 1
    slopes, outputs, going = {}, {}, []
    for action in order:
        m = int(action[1:])
        if action[0] == "F":
            outputs[m] = forward(m, comm.recv(before) if before >= 0 else inputs[m])
            if after < comm.size:
                going.append(comm.isend(outputs[m], after))
        else:
            slopes[m] = backward(m, comm.recv(after) if after < comm.size else 0.0)
            if before >= 0:
                going.append(comm.isend(slopes[m], before))
    for message in going:
        message.wait()
    return [slopes[m] for m in range(len(slopes))]
