# class: C8
# hint: only-both


def resume_faults(saved, restored):
    found = set(saved) ^ set(restored)
    return sorted(found)
