# class: B8
# hint: neighbours
from itertools import pairwise


def both_inside(history):
    return [(a, b) for (a, one), (b, two) in pairwise(history) if one == two == "takes"]
