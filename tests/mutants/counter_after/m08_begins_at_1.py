# class: C3
# hint: begins-at-0
def counter_after(order):
    counter, loaded = 1, {}
    for core in order:
        if core in loaded:
            counter = loaded.pop(core) + 1
        else:
            loaded[core] = counter
    return counter
