def diagnose_curve(losses, alone):
    for step, row in enumerate(losses):
        if len({float(loss) for loss in row}) > 1:
            return "no all-reduce" if step else "no broadcast"
    if all(abs(row[0] - one) <= 1e-9 * abs(one) for row, one in zip(losses, alone, strict=True)):
        return "fine"
    if abs(losses[1][0] - losses[0][0]) > abs(alone[1] - alone[0]):
        return "sum for mean"
    return "divided twice"
