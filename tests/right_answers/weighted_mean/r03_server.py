import numpy as np


def weighted_mean(comm, grad, n_examples):
    mine = np.append(n_examples * grad, float(n_examples))
    if comm.rank > 0:
        comm.send(mine, dst=0)
        return comm.recv(src=0)
    for src in range(1, comm.size):
        mine += comm.recv(src)
    mean = mine[:-1] / mine[-1]
    for dst in range(1, comm.size):
        comm.send(mean, dst)
    return mean
