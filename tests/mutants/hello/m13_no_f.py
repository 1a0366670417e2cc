# class: C3
# hint: no-f
def hello(comm):
    return "rank {comm.rank} of {comm.size}"
