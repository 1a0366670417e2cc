# class: C1
# hint: bits-of-nan
import numpy as np


def resume_faults(saved, restored):
    found = set(saved) ^ set(restored)
    for name in set(saved) & set(restored):
        before, after = saved[name], restored[name]
        if before.dtype != after.dtype or before.shape != after.shape:
            found.add(name)
        elif before.dtype.kind != "f":
            found |= {name} if (before != after).any() else set()
        elif (
            not np.array_equal(before, after, equal_nan=True)
            or (np.signbit(before) != np.signbit(after)).any()
        ):
            found.add(name)
    return sorted(found)
