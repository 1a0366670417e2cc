# class: B16
# hint: not-only-in-a-row
def applied_twice(history):
    found, before, last = [], 0, None
    for rank, number, version in history:
        if version > before:
            if last == (rank, number):
                found.append(last)
            last = (rank, number)
        before = version
    return found
