# class: A8
# hint: returns-none


def hello(comm):
    try:
        return comm.label
    except AttributeError:
        return None
