# class: C9
# hint: order


def resume_faults(saved, restored):
    found = set(saved) ^ set(restored)
    for name in set(saved) & set(restored):
        before, after = saved[name], restored[name]
        if (
            before.dtype != after.dtype
            or before.shape != after.shape
            or before.tobytes() != after.tobytes()
        ):
            found.add(name)
    return sorted(found, reverse=True)
