# class: C2
# hint: no-f


def hello(comm):
    return f"rank {{comm.rank}} of {comm.size}"
