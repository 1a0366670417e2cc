# class: A8
# hint: returns-none


def hello(comm):
    try:
        return comm.name
    except AttributeError:
        return None
