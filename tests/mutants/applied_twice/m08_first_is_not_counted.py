# class: B4
# hint: version-before
def applied_twice(history):
    times, found, before = {}, [], None
    for rank, number, version in history:
        if before is not None and version > before:
            times[rank, number] = times.get((rank, number), 0) + 1
            if times[rank, number] == 2:
                found.append((rank, number))
        before = version
    return found
