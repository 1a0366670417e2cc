# class: B4
# hint: node-by-node
from itertools import product


def makespan(inputs, us, ranks, message_us):
    free, done = {}, []
    for node, before in enumerate(inputs):
        begins = free.get(ranks[node], 0)
        for used in before:
            begins = max(begins, done[used] + message_us * (ranks[used] != ranks[node]))
        done.append(begins + us[node])
        free[ranks[node]] = done[-1]
    return max(done)


def place_nodes(inputs, us, n_workers, message_us):
    def price(ranks):
        crossing = {
            (used, ranks[node])
            for node, before in enumerate(inputs)
            for used in before
            if ranks[used] != ranks[node]
        }
        return len(crossing), makespan(inputs, us, ranks, message_us)

    return list(min(product(range(n_workers), repeat=len(us)), key=price))
