# class: C6
# hint: falls-is-no-proof


def diagnose_curve(losses, alone):
    if (losses[0] != losses[0, 0]).any():
        return "no broadcast"
    if (losses != losses[:, :1]).any():
        return "no all-reduce"
    curve = losses[:, 0]
    if abs(curve[-1] - alone[-1]) <= 1e-9 * alone[-1]:
        return "fine"
    return (
        "sum for mean" if abs(curve[1] - curve[0]) > abs(alone[1] - alone[0]) else "divided twice"
    )
