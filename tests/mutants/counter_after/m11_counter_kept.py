# class: B11
# hint: stale
counter = 0


def counter_after(order):
    global counter
    loaded = {}
    for core in order:
        if core in loaded:
            counter = loaded.pop(core) + 1
        else:
            loaded[core] = counter
    return counter
