import math


def what_is_unfair(records):
    first = max(record["first_loss"] for record in records)
    target = min(record["target"] for record in records)
    result = {}
    for record in records:
        took = {r: math.inf if s is None else s for r, s in record["tried"].items()}
        rate, reasons = record["rate"], []
        inside = min(took) < rate < max(took)
        if not inside or took[rate] > min(took.values()):
            reasons += ["untuned"]
        if record["first_loss"] != first:
            reasons += ["warm start"]
        if record["ended_s"][record["holder"]] != record["seconds"]:
            reasons += ["another clock"]
        if record["target"] != target:
            reasons += ["easier target"]
        if reasons:
            result[record["scheme"]] = reasons
    return result
