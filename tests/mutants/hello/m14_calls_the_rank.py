# class: C3
# hint: calls-a-number
def hello(comm):
    return f"rank {comm.rank()} of {comm.size()}"
