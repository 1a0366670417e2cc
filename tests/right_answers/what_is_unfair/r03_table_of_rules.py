def what_is_unfair(records):
    losses = sorted(record["first_loss"] for record in records)
    targets = sorted(record["target"] for record in records)
    rules = [
        ("untuned", lambda r: untuned(r["tried"], r["rate"])),
        ("warm start", lambda r: r["first_loss"] < losses[-1]),
        ("another clock", lambda r: r["ended_s"][r["holder"]] != r["seconds"]),
        ("easier target", lambda r: r["target"] > targets[0]),
    ]

    def untuned(tried, rate):
        ordered = sorted(tried)
        if rate == ordered[0] or rate == ordered[-1] or tried[rate] is None:
            return True
        return any(s < tried[rate] for s in tried.values() if s is not None)

    told = {r["scheme"]: [name for name, holds in rules if holds(r)] for r in records}
    return {scheme: reasons for scheme, reasons in told.items() if reasons}
