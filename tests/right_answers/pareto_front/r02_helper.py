def pareto_front(points):
    def beats(a, b):
        (x, y), (u, v) = points[a], points[b]
        return x <= u and y <= v and (x < u or y < v)

    rest = [b for b in points if not any(beats(a, b) for a in points)]
    rest.sort(key=lambda name: points[name][0])
    return rest
