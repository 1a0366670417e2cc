# class: B4
# hint: counts-from-1


def hello(comm):
    return f"rank {comm.rank + 1} of {comm.size}"
