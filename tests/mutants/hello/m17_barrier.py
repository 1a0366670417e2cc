# class: A3
# hint: other-verb
def hello(comm):
    comm.barrier()
    return f"rank {comm.rank} of {comm.size}"
