# class: B16
# hint: nothing-lost
def counter_after(order):
    return len(order) // 2
