import numpy as np


def allreduce_ring(comm, array):
    if comm.size == 1:
        return array.copy()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = [chunk.copy() for chunk in np.array_split(array, comm.size)]
    number = comm.rank
    for _ in range(comm.size - 1):
        received = comm.sendrecv(chunks[number], dst=right, src=left)
        number = (number - 1) % comm.size
        chunks[number] = received + chunks[number]
    for _ in range(comm.size - 1):
        received = comm.sendrecv(chunks[number], dst=right, src=left)
        number = (number - 1) % comm.size
        chunks[number] = received
    return np.concatenate(chunks)
