# class: B12
# hint: changes-input
def what_is_unfair(records):
    highest = max(one["first_loss"] for one in records)
    lowest = min(one["target"] for one in records)
    found = {}
    for one in records:
        scheme, tried, rate = one.pop("scheme"), one["tried"], one["rate"]
        best = min(steps for steps in tried.values() if steps is not None)
        own = tried[rate]
        at_the_edge = rate in (min(tried), max(tried))
        reasons = {
            "untuned": own is None or own > best or at_the_edge,
            "warm start": one["first_loss"] < highest,
            "another clock": one["seconds"] != one["ended_s"][one["holder"]],
            "easier target": one["target"] > lowest,
        }
        if any(reasons.values()):
            found[scheme] = [reason for reason, holds in reasons.items() if holds]
    return found
