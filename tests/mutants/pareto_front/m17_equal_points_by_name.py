# class: B2
# hint: order


def pareto_front(points):
    front = []
    for name, place in points.items():
        if not any(q != place and q[0] <= place[0] and q[1] <= place[1] for q in points.values()):
            front.append(name)
    return sorted(front, key=lambda name: (points[name][0], name))
