# class: C2
# hint: not-a-text
def hello(comm):
    return ["rank", comm.rank, "of", comm.size]
