# class: B16
# hint: received-is-not-applied
def applied_twice(history):
    times, found = {}, []
    for rank, number, _ in history:
        times[rank, number] = times.get((rank, number), 0) + 1
        if times[rank, number] == 2:
            found.append((rank, number))
    return found
