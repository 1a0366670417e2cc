def tuned_batch(steps, sizes, rates, step_us, example_us):
    best = None
    for i, size in enumerate(sizes):
        for j, rate in enumerate(rates):
            seeds = sorted(steps[i, j])
            half = len(seeds) // 2
            median = seeds[half] if len(seeds) % 2 else (seeds[half - 1] + seeds[half]) / 2
            time_us = median * (step_us + size * example_us)
            if best is None or time_us < best[0]:
                best = time_us, int(size), float(rate), j == 0 or j == len(rates) - 1
    return dict(zip(("time_us", "best_size", "best_rate", "rate_at_edge"), best, strict=True))
