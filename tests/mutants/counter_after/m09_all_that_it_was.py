# class: A7
# hint: one-number
def counter_after(order):
    counter, loaded, said = 0, {}, []
    for core in order:
        if core in loaded:
            counter = loaded.pop(core) + 1
            said.append(counter)
        else:
            loaded[core] = counter
    return said
