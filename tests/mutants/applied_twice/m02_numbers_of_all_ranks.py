# class: B8
# hint: ranks-have-own-numbers
def applied_twice(history):
    times, found, before = {}, [], 0
    for rank, number, version in history:
        if version > before:
            times[number] = times.get(number, 0) + 1
            if times[number] == 2:
                found.append((rank, number))
        before = version
    return found
