# class: B9
# hint: last-store
def counter_after(order):
    counter, loaded, largest = 0, {}, 0
    for core in order:
        if core in loaded:
            counter = loaded.pop(core) + 1
            largest = max(largest, counter)
        else:
            loaded[core] = counter
    return largest
