# class: B4
# hint: version-before
def applied_twice(history):
    times, found, before = {}, [], 0
    for k, (rank, number, _) in enumerate(history):
        version = history[min(k + 1, len(history) - 1)][2]
        if version > before:
            times[rank, number] = times.get((rank, number), 0) + 1
            if times[rank, number] == 2:
                found.append((rank, number))
        before = version
    return found
