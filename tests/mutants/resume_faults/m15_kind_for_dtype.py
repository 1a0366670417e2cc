# class: C3
# hint: dtype
def resume_faults(saved, restored):
    found = set(saved) ^ set(restored)
    for name in set(saved) & set(restored):
        before, after = saved[name], restored[name]
        same = before.dtype.kind == after.dtype.kind and before.shape == after.shape
        if not same or before.tobytes() != after.tobytes():
            found.add(name)
    return sorted(found)
