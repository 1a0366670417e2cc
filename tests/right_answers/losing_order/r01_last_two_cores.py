def losing_order(counts):
    n = len(counts)
    a, b = n, n - 1
    order = [b]
    for core in range(1, n - 1):
        order += [core] * (2 * counts[core - 1])
    order += [a] * (2 * (counts[a - 1] - 1))
    order += [b, a]
    order += [b] * (2 * (counts[b - 1] - 1))
    order.append(a)
    return order
