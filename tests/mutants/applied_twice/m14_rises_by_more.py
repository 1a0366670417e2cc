# class: B16
# hint: rises-by-one
def applied_twice(history):
    found, before = [], 0
    for rank, number, updates in history:
        if updates - before > 1 and (rank, number) not in found:
            found.append((rank, number))
        before = updates
    return found
