# class: A8
# hint: exited
import os


def hello(comm):
    os._exit(0)
