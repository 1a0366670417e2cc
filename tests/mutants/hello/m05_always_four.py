# class: B5
# hint: fixed-size


def hello(comm):
    return f"rank {comm.rank} of 4"
