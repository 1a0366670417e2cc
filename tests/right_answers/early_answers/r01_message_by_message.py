def early_answers(trace):
    counts = []
    n_steps = len(trace.between(1, 0))
    for step in range(n_steps):
        last = 0.0
        for worker in range(1, trace.size):
            last = max(last, trace.between(worker, 0)[step].received_s)
        early = 0
        for worker in range(1, trace.size):
            if trace.between(0, worker)[step + 1].posted_s < last:
                early += 1
        counts.append(early)
    return counts
