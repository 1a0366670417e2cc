def cheapest_grid(ranks, width, examples):
    best = None
    for replicas in range(1, ranks + 1):
        if ranks % replicas == 0:
            splits, m = ranks // replicas, examples // replicas
            total = 8 * (replicas - 1) * 4 * (width * width + width) / (replicas * splits)
            total += 24 * (splits - 1) * m * width / splits
            if best is None or total < best[0]:
                best = total, splits
    return {"n_bytes": best[0], "splits": best[1]}
