from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    chunks = [array[rows].copy() for rows in split_evenly(len(array), comm.size)]
    for step in range(1, comm.size):
        outgoing, incoming = comm.rank - step, comm.rank - step - 1  # from -P: Python wraps around
        received = comm.sendrecv(
            chunks[outgoing], (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        )
        chunks[incoming] = chunks[incoming] + received
    return chunks[comm.rank]
