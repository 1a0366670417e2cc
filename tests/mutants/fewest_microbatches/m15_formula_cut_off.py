# class: C3
# hint: rounded
def fewest_microbatches(ranks, batch, most_idle_percent):
    least = max(1, int((ranks - 1) * (100 / most_idle_percent - 1)))
    microbatches = next((m for m in range(least, batch + 1) if batch % m == 0), batch)
    held = min(ranks, microbatches) * (batch // microbatches)
    return {"microbatches": microbatches, "held": held}
