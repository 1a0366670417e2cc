# class: C6
# hint: both-strict


def pareto_front(points):
    front = []
    for name, (seconds, n_bytes) in points.items():
        beaten = any(s < seconds and b < n_bytes for s, b in points.values())
        if not beaten:
            front.append(name)
    return sorted(front, key=lambda name: points[name][0])
