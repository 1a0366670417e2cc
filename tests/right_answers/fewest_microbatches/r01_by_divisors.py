def fewest_microbatches(ranks, batch, most_idle_percent):
    divisors = [k for k in range(1, batch + 1) if batch % k == 0]
    enough = [
        k for k in divisors if (ranks - 1) * (100 - most_idle_percent) <= k * most_idle_percent
    ]
    each = batch // enough[0]
    return {"held": min(batch, ranks * each), "microbatches": enough[0]}
