def hello(comm):
    return "rank {} of {}".format(comm.rank, comm.size)
