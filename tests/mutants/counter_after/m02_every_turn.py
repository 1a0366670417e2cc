# class: B4
# hint: every-turn
def counter_after(order):
    return len(order)
