# class: C6
# hint: before-the-first-step
def diagnose_curve(losses, alone):
    return "fine" if (losses[-1] < losses[0]).all() and alone[-1] < alone[0] else "sum for mean"
