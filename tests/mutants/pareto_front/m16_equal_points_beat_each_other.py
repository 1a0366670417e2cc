# class: B10
# hint: itself


def pareto_front(points):
    front = []
    for name, (seconds, n_bytes) in points.items():
        others = [place for other, place in points.items() if other != name]
        if not any(s <= seconds and b <= n_bytes for s, b in others):
            front.append(name)
    return sorted(front, key=lambda name: points[name][0])
