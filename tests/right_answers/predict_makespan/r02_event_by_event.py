def predict_makespan(inputs, us, ranks, n_workers, message_us):
    todo = {w: [k for k, r in enumerate(ranks) if r == w] for w in range(n_workers)}
    clock, there = dict.fromkeys(todo, 0), {}
    messages = 0
    while any(todo.values()):
        for w, nodes in todo.items():
            while nodes and all((used, w) in there for used in inputs[nodes[0]]):
                k = nodes.pop(0)
                clock[w] = max([clock[w]] + [there[used, w] for used in inputs[k]]) + us[k]
                there[k, w] = clock[w]
                for other in range(n_workers):
                    if other != w and any(
                        k in inputs[user] for user, r in enumerate(ranks) if r == other
                    ):
                        there[k, other] = clock[w] + message_us
                        messages += 1
    end = max(clock.values())
    idle = end * n_workers
    for t in us:
        idle -= t
    return {"makespan_us": end, "messages": messages, "idle_us": idle}
