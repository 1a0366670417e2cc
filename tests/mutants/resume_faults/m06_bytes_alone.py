# class: C3
# hint: bytes-alone


def resume_faults(saved, restored):
    found = set(saved) ^ set(restored)
    for name in set(saved) & set(restored):
        before, after = saved[name], restored[name]
        if before.tobytes() != after.tobytes():
            found.add(name)
    return sorted(found)
