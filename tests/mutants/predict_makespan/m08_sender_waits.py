# class: B15
# hint: travels-alone


def predict_makespan(inputs, us, ranks, n_workers, message_us):
    free, comes, done, n_sent = [0] * n_workers, {}, [], 0
    for node, before in enumerate(inputs):
        rank = ranks[node]
        begins = max([free[rank], *[comes[used, rank] for used in before]])
        done.append(begins + us[node])
        free[rank] = comes[node, rank] = done[node]
        for goal in sorted({ranks[user] for user, used in enumerate(inputs) if node in used}):
            if goal != rank:
                free[rank] += message_us
                comes[node, goal] = free[rank]
                n_sent += 1
    makespan_us = max(done)
    idle_us = n_workers * makespan_us - sum(us)
    return {"makespan_us": makespan_us, "messages": n_sent, "idle_us": idle_us}
