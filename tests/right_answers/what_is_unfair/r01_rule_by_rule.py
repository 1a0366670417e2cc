def what_is_unfair(records):
    found = {}

    def add(one, reason):
        found.setdefault(one["scheme"], []).append(reason)

    for one in records:
        rates = sorted(one["tried"])
        there = [rate for rate in rates if one["tried"][rate] is not None]
        best = min(there, key=lambda rate: one["tried"][rate])
        same = one["tried"][one["rate"]] == one["tried"][best]
        if not same or one["rate"] in (rates[0], rates[-1]):
            add(one, "untuned")
        if any(one["first_loss"] < other["first_loss"] for other in records):
            add(one, "warm start")
        if one["seconds"] != one["ended_s"][one["holder"]]:
            add(one, "another clock")
        if any(one["target"] > other["target"] for other in records):
            add(one, "easier target")
    return found
