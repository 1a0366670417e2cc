import numpy as np


def staleness_of(order):
    version_of = dict.fromkeys(order, 0)
    ages = np.zeros(len(order), dtype=int)
    for version, rank in enumerate(order):
        ages[version] = version - version_of[rank]
        version_of[rank] = version + 1
    return ages
