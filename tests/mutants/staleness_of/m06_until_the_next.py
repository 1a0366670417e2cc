# class: B14
# hint: until-the-next
def staleness_of(order):
    found = []
    for number, rank in enumerate(order):
        later = [k for k in range(number + 1, len(order)) if order[k] == rank]
        found.append((later[0] if later else len(order)) - number - 1)
    return found
