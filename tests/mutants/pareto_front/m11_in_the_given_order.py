# class: C9
# hint: order


def pareto_front(points):
    front = []
    for name, (seconds, n_bytes) in points.items():
        beaten = any(
            s <= seconds and b <= n_bytes and (s, b) != (seconds, n_bytes)
            for s, b in points.values()
        )
        if not beaten:
            front.append(name)
    return front
