# class: A1
# hint: everybody


def pareto_front(points):
    return sorted(points, key=lambda name: points[name][0])
