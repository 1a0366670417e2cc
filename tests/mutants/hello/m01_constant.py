# class: A1
# hint: same-everywhere


def hello(comm):
    return "rank 0 of 4"
