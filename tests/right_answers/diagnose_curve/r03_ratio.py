def diagnose_curve(losses, alone):
    unlike = losses.max(axis=1) != losses.min(axis=1)
    if unlike.any():
        return "no all-reduce" if unlike.argmax() else "no broadcast"
    if (abs(losses[:, -1] / alone - 1) < 1e-9).all():
        return "fine"
    ratio = (losses[1, 0] - losses[0, 0]) / (alone[1] - alone[0])
    return "sum for mean" if abs(ratio) > 1 else "divided twice"
