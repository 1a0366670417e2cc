# class: C2
# hint: what-is-lost
def counter_after(order):
    counter, loaded = 0, {}
    for core in order:
        if core in loaded:
            counter = loaded.pop(core) + 1
        else:
            loaded[core] = counter
    return len(order) // 2 - counter
