# class: B4
# hint: nothing-lost
def counter_after(order):
    counter = loaded = 0
    for turn, _ in enumerate(order):
        if turn % 2:
            counter = loaded + 1
        else:
            loaded = counter
    return counter
