def losing_order(counts):
    """Whoever has the fewest additions is interrupted first; the one with the most stores last."""
    cores = sorted(range(1, len(counts) + 1), key=lambda core: counts[core - 1])
    first, last, others = cores[0], cores[-1], cores[1:-1]
    turns = {core: [core] * (2 * counts[core - 1]) for core in cores}
    order = [turns[first].pop()]
    while len(turns[last]) > 2:
        order.append(turns[last].pop())
    for other in others:
        order += turns[other]
    order.append(turns[first].pop())
    order.append(turns[last].pop())
    order += turns[first]
    return tuple(order + turns[last])
