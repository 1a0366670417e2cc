# class: C6
# hint: hull


def pareto_front(points):
    front = []
    for name in sorted(points, key=lambda name: points[name]):
        x, y = points[name]
        if front and points[front[-1]][1] <= y and points[front[-1]] != (x, y):
            continue
        while len(front) > 1:
            (ax, ay), (bx, by) = points[front[-2]], points[front[-1]]
            if (by - ay) * (x - ax) <= (y - ay) * (bx - ax) or (bx, by) == (x, y):
                break
            front.pop()
        front.append(name)
    return front
