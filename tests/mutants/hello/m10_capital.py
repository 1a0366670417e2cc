# class: C9
# hint: spelling


def hello(comm):
    return f"Rank {comm.rank} of {comm.size}."
