# class: B15
# hint: falls-is-no-proof
def diagnose_curve(losses, alone):
    if (losses[0] != losses[0, 0]).any():
        return "no broadcast"
    return "no all-reduce" if (losses != losses[:, :1]).any() else "fine"
