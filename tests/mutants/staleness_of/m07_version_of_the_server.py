# class: B16
# hint: version
def staleness_of(order):
    return list(range(len(order)))
