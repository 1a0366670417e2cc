# class: B10
# hint: equal-points


def pareto_front(points):
    front, least = [], float("inf")
    for name in sorted(points, key=lambda name: points[name]):
        if points[name][1] < least:
            front.append(name)
            least = points[name][1]
    return front
