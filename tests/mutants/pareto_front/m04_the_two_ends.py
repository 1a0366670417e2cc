# class: B5
# hint: ends-only


def pareto_front(points):
    if not points:
        return []
    fastest = min(points, key=lambda name: points[name][0])
    leanest = min(points, key=lambda name: points[name][1])
    return [fastest] if fastest == leanest else [fastest, leanest]
