def fewest_microbatches(ranks, batch, most_idle_percent):
    best = None
    for each in range(1, batch + 1):
        parts, left = divmod(batch, each)
        if left == 0 and 100 * (ranks - 1) <= most_idle_percent * (parts + ranks - 1):
            best = {"microbatches": parts, "held": min(parts, ranks) * each}
    return best
