# class: B21
# hint: calls-itself
def hello(comm):
    return hello(comm)
