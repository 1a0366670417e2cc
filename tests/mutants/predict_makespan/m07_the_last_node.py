# class: B2
# hint: the-last-one


def predict_makespan(inputs, us, ranks, n_workers, message_us):
    free = [0] * n_workers
    done, sent = [], set()
    for node, before in enumerate(inputs):
        rank = ranks[node]
        begins = free[rank]
        for used in before:
            crosses = ranks[used] != rank
            begins = max(begins, done[used] + message_us * crosses)
            if crosses:
                sent.add((used, rank))
        free[rank] = begins + us[node]
        done.append(free[rank])
    makespan_us = done[-1]
    return {
        "makespan_us": makespan_us,
        "messages": len(sent),
        "idle_us": n_workers * makespan_us - sum(us),
    }
