# class: C6
# hint: another-clock
def what_is_unfair(records):
    highest = max(one["first_loss"] for one in records)
    lowest = min(one["target"] for one in records)
    found = {}
    for one in records:
        tried = one["tried"]
        best_s = min((seconds for seconds in tried.values() if seconds is not None), default=0)
        own_s = tried[one["rate"]]
        at_end = one["rate"] in (min(tried), max(tried))
        reasons = {
            "untuned": own_s is None or own_s > best_s or at_end,
            "warm start": one["first_loss"] < highest,
            "another clock": one["seconds"] < one["ended_s"][one["holder"]],
            "easier target": one["target"] > lowest,
        }
        if any(reasons.values()):
            found[one["scheme"]] = [reason for reason, holds in reasons.items() if holds]
    return found
