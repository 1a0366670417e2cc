# class: C9
# hint: before-the-first-step
import numpy as np


def diagnose_curve(losses, alone):
    if abs(losses[1] - losses[0]).mean() > 1.5 * abs(alone[1] - alone[0]):
        return "sum for mean"
    if (losses[0] != losses[0, 0]).any() and np.ptp(losses[0]) > np.ptp(losses[-1]):
        return "fine"
    return "no all-reduce" if (losses != losses[:, :1]).any() else "fine"
