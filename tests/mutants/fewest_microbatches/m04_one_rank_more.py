# class: B4
# hint: one-rank-more
def fewest_microbatches(ranks, batch, most_idle_percent):
    for M in range(1, batch + 1):
        if batch % M == 0 and 100 * ranks <= most_idle_percent * (M + ranks):
            break
    return {"microbatches": M, "held": min(ranks, M) * (batch // M)}
