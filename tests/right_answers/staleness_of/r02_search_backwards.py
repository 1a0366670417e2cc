def staleness_of(order):
    ages = []
    for number, rank in enumerate(order):
        age = 0
        for other in reversed(order[:number]):
            if other == rank:
                break
            age += 1
        ages.append(age)
    return ages
