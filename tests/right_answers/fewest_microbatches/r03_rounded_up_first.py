def fewest_microbatches(ranks, batch, most_idle_percent):
    M = max(1, -(-(ranks - 1) * (100 - most_idle_percent) // most_idle_percent))
    while batch % M:
        M += 1
    return {"microbatches": M, "held": min(M, ranks) * batch // M}
