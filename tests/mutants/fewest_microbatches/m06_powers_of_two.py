# class: B5
# hint: powers-of-two
def fewest_microbatches(ranks, batch, most_idle_percent):
    M = 1
    while batch % M or 100 * (ranks - 1) > most_idle_percent * (M + ranks - 1):
        M *= 2
        if batch < M:
            M = batch
            break
    return {"microbatches": M, "held": min(ranks, M) * (batch // M)}
