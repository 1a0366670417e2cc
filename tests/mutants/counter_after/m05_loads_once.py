# class: B11
# hint: loads-again
def counter_after(order):
    counter, loaded, stores = 0, {}, set()
    for core in order:
        if core in stores:
            loaded[core] += 1
            counter = loaded[core]
            stores.remove(core)
        else:
            loaded.setdefault(core, counter)
            stores.add(core)
    return counter
