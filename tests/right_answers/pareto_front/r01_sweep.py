def pareto_front(points):
    front, least, at = [], float("inf"), None
    for name in sorted(points, key=lambda name: points[name]):
        if points[name][1] < least or points[name] == at:
            front.append(name)
            least, at = points[name][1], points[name]
    return front
