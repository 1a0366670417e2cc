import numpy as np


def assign_layers(sizes, n_shards):
    sizes = np.asarray(sizes, dtype=int)
    homes, loads = np.zeros(len(sizes), dtype=int), np.zeros(n_shards)
    for layer in np.argsort(-sizes, kind="stable"):
        homes[layer] = loads.argmin()
        loads[homes[layer]] += sizes[layer]
    return homes
