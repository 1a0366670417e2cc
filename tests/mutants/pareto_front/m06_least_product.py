# class: B15
# hint: one-number


def pareto_front(points):
    return sorted(points, key=lambda name: points[name][0] * points[name][1])[:1]
