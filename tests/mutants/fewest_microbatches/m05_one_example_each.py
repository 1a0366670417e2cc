# class: B15
# hint: largest
def fewest_microbatches(ranks, batch, most_idle_percent):
    return {"microbatches": batch, "held": min(ranks, batch)}
