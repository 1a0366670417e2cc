# class: B4
# hint: at-most
def fewest_microbatches(ranks, batch, most_idle_percent):
    for M in range(1, batch + 1):
        if batch % M == 0 and 100 * (ranks - 1) < most_idle_percent * (M + ranks - 1):
            break
    return {"microbatches": M, "held": min(ranks, M) * (batch // M)}
