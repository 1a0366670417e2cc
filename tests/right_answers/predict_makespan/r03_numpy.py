import numpy as np


def predict_makespan(inputs, us, ranks, n_workers, message_us):
    where, took = np.array(ranks), np.array(us)
    end = np.zeros(len(us), dtype=int)
    crossing = np.zeros((len(us), n_workers), dtype=bool)
    for k, before in enumerate(inputs):
        used = np.array(before, dtype=int)
        far = where[used] != where[k]
        crossing[used[far], where[k]] = True
        earlier = end[:k][where[:k] == where[k]]
        ready = end[used] + message_us * far
        end[k] = max(earlier.max(initial=0), ready.max(initial=0)) + took[k]
    return {
        "makespan_us": int(end.max()),
        "messages": int(crossing.sum()),
        "idle_us": int(n_workers * end.max() - took.sum()),
    }
