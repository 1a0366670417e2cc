# class: A1
# hint: no-messages


def pass_around(comm, x):
    return x.copy()
