def run_order(comm, order, forward, backward, inputs):
    slopes, sent = [], {}
    for action in order:
        m, is_forward = int(action[1:]), action.startswith("F")
        if is_forward:
            x = inputs[m] if comm.rank == 0 else comm.recv(comm.rank - 1)
            made, dst = forward(m, x), comm.rank + 1
        else:
            slope = None if comm.rank + 1 == comm.size else comm.recv(comm.rank + 1)
            if ("F", m) in sent:
                sent.pop(("F", m)).wait()
            made, dst = backward(m, slope), comm.rank - 1
            slopes.append(made)
        if 0 <= dst < comm.size:
            sent[action[0], m] = comm.isend(made, dst)
    for message in sent.values():
        message.wait()
    return slopes
