from functools import cache


def predict_makespan(inputs, us, ranks, n_workers, message_us):
    @cache
    def end(node):
        rank = ranks[node]
        own = [k for k in range(node) if ranks[k] == rank]
        times = [end(own[-1])] if own else [0]
        times += [end(used) + (message_us if ranks[used] != rank else 0) for used in inputs[node]]
        return max(times) + us[node]

    last = max(end(node) for node in range(len(us)))
    goals = [{ranks[n] for n, used in enumerate(inputs) if k in used} for k in range(len(us))]
    n_messages = sum(len(goals[k] - {ranks[k]}) for k in range(len(us)))
    busy = [sum(t for t, r in zip(us, ranks, strict=False) if r == w) for w in range(n_workers)]
    return {"makespan_us": last, "messages": n_messages, "idle_us": sum(last - b for b in busy)}
