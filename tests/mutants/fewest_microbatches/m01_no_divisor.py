# class: B7
# hint: no-divisor
def fewest_microbatches(ranks, batch, most_idle_percent):
    for M in range(1, batch + 1):
        if 100 * (ranks - 1) <= most_idle_percent * (M + ranks - 1):
            break
    return {"microbatches": M, "held": min(ranks, M) * (batch // M)}
