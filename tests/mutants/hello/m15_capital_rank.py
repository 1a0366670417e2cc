# class: C3
# hint: misspelt
def hello(comm):
    return f"rank {comm.Rank} of {comm.Size}"
