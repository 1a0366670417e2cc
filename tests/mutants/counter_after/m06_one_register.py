# class: B10
# hint: anybodys-load
def counter_after(order):
    counter, loaded, stores = 0, 0, set()
    for core in order:
        if core in stores:
            counter = loaded + 1
            stores.remove(core)
        else:
            loaded = counter
            stores.add(core)
    return counter
