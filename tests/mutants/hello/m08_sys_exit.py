# class: A8
# hint: exited
import sys


def hello(comm):
    sys.exit(0)
