# class: B16
# hint: nothing-lost
def counter_after(order):
    counter, inside = 0, set()
    for core in order:
        if core in inside:
            counter += 1
            inside.remove(core)
        else:
            inside.add(core)
    return counter
