# class: C6
# hint: cut-edges


def predict_makespan(inputs, us, ranks, n_workers, message_us):
    free = [0] * n_workers
    done, _sent = [], set()
    for node, before in enumerate(inputs):
        rank = ranks[node]
        begins = free[rank]
        for used in before:
            crosses = ranks[used] != rank
            begins = max(begins, done[used] + message_us * crosses)
        free[rank] = begins + us[node]
        done.append(free[rank])
    makespan_us = max(done)
    return {
        "makespan_us": makespan_us,
        "messages": sum(map(len, inputs)),
        "idle_us": n_workers * makespan_us - sum(us),
    }
