# class: B4
# hint: none-is-added
def predict_makespan(inputs, us, ranks, n_workers, message_us):
    free, done, crossing = [0] * n_workers, [], set()
    for node, before in enumerate(inputs):
        begins = free[ranks[node]]
        for used in before:
            begins = max(begins, done[used])
            if ranks[used] != ranks[node]:
                begins += message_us
                crossing.add((used, ranks[node]))
        done.append(begins + us[node])
        free[ranks[node]] = done[-1]
    makespan_us = max(done)
    return {
        "makespan_us": makespan_us,
        "messages": len(crossing),
        "idle_us": n_workers * makespan_us - sum(us),
    }
