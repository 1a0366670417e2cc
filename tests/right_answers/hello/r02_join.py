def hello(comm):
    words = ["rank", str(comm.rank), "of", str(comm.size)]
    return " ".join(words)
