# class: B15
# hint: other-verb
import numpy as np


def hello(comm):
    if comm.rank:
        comm.send(np.array([comm.rank]), dst=0)
    else:
        for src in range(1, comm.size):
            comm.recv(src)
    return f"rank {comm.rank} of {comm.size}"
