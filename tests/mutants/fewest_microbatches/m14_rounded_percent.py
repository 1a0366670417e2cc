# class: C3
# hint: rounded
def fewest_microbatches(ranks, batch, most_idle_percent):
    for microbatches in range(1, batch + 1):
        idle_percent = round(100 * (ranks - 1) / (microbatches + ranks - 1))
        if batch % microbatches == 0 and idle_percent <= most_idle_percent:
            break
    held = min(ranks, microbatches) * (batch // microbatches)
    return {"microbatches": microbatches, "held": held}
