def allreduce_butterfly(comm, array):
    core = 1
    while 2 * core <= comm.size:
        core *= 2
    beyond = comm.size - core
    total = array.copy()
    if comm.rank < 2 * beyond:  # ranks 0 and 1, 2 and 3, ... become one each
        if comm.rank % 2 == 1:
            comm.send(total, comm.rank - 1)
            return comm.recv(comm.rank - 1)
        comm.recv(comm.rank + 1, out=total, op="sum")
        place = comm.rank // 2
    else:
        place = comm.rank - beyond
    distance = 1
    while distance < core:
        other = place ^ distance
        partner = 2 * other if other < beyond else other + beyond
        total = total + comm.sendrecv(total, partner, partner)
        distance *= 2
    if comm.rank < 2 * beyond:
        comm.send(total, comm.rank + 1)
    return total
