# class: C6
# hint: minus-zero


import numpy as np


def resume_faults(saved, restored):
    found = set(saved) ^ set(restored)
    for name in set(saved) & set(restored):
        before, after = saved[name], restored[name]
        if (
            before.dtype != after.dtype
            or before.shape != after.shape
            or not np.array_equal(before, after, equal_nan=True)
        ):
            found.add(name)
    return sorted(found)
