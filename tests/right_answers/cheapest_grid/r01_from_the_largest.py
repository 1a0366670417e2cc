def cheapest_grid(ranks, width, examples):
    found = {}
    for splits in range(ranks, 0, -1):
        if ranks % splits:
            continue
        replicas = ranks // splits
        own = 16 * width * (width + 1) / splits
        n_bytes = 2 * own * (1 - 1 / replicas)
        n_bytes += 3 * 2 * (1 - 1 / splits) * 4 * width * examples / replicas
        found[n_bytes] = splits
    least = min(found)
    return {"splits": found[least], "n_bytes": least}
