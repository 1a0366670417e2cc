# class: A1
# hint: prints-only
def applied_twice(history):
    times, found, before = {}, [], 0
    for rank, number, version in history:
        if version > before:
            times[rank, number] = times.get((rank, number), 0) + 1
            if times[rank, number] == 2:
                found.append((rank, number))
        before = version
    print(found)
