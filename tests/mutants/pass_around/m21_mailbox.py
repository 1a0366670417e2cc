# class: A4
# hint: shared-nothing
box = {}


def pass_around(comm, x):
    box[comm.rank] = x if comm.rank == 0 else box[comm.rank - 1] + x
    return box[comm.rank]
