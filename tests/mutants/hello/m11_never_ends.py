# class: A12
# hint: too-slow


def hello(comm):
    while True:
        pass
