# class: A3
# hint: no-such-verb
def pass_around(comm, x):
    return comm.scan(x)
