def order_1f1b(rank, ranks, microbatches):
    # When each could be in a pipeline whose passes all take one unit.
    when = {f"F{m}": (rank + 2 * m if m >= ranks - rank else rank + m) for m in range(microbatches)}
    when |= {f"B{m}": 2 * ranks - 1 - rank + 2 * m for m in range(microbatches)}
    return sorted(when, key=lambda action: (when[action], action[0] == "B"))
