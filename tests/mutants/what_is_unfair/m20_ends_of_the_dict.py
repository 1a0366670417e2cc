# class: B5
# hint: all-tried


def what_is_unfair(records):
    found = {}
    for one in records:
        good = {a: b for a, b in one["tried"].items() if b is not None}
        rates = list(one["tried"])
        ends = rates[0], rates[-1]
        untuned = one["rate"] not in good or good[one["rate"]] > min(good.values())
        reasons = ["untuned"] if untuned or one["rate"] in ends else []
        if one["first_loss"] < max(other["first_loss"] for other in records):
            reasons.append("warm start")
        if one["seconds"] != one["ended_s"][one["holder"]]:
            reasons.append("another clock")
        if one["target"] > min(other["target"] for other in records):
            reasons.append("easier target")
        if reasons:
            found[one["scheme"]] = reasons
    return found
