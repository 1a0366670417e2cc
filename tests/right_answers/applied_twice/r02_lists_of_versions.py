from itertools import pairwise


def applied_twice(history):
    versions = [0, *(version for _, _, version in history)]
    applied = [
        (rank, number)
        for (rank, number, _), (before, after) in zip(history, pairwise(versions), strict=True)
        if after != before
    ]
    return [push for k, push in enumerate(applied) if applied[:k].count(push) == 1]
