# class: B4
# hint: first-push
def staleness_of(order):
    version_of, ages = dict.fromkeys(order, 1), []
    for version, rank in enumerate(order):
        ages.append(version - version_of[rank])
        version_of[rank] = version + 1
    return ages
