# class: B4
# hint: last-rank-as-size


def hello(comm):
    return f"rank {comm.rank} of {comm.size - 1}"
