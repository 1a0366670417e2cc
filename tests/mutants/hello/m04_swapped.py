# class: B4
# hint: swapped


def hello(comm):
    return f"rank {comm.size} of {comm.rank}"
