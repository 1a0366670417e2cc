# class: B2
# hint: later
import numpy as np


def diagnose_curve(losses, alone):
    if (losses[0] != losses[0, 0]).any():
        return "no broadcast"
    if losses.shape[1] > 1 and (losses[:, 0] != losses[:, 1]).any():
        return "no all-reduce"
    if np.allclose(losses[:, 0], alone, rtol=1e-9, atol=0):
        return "fine"
    change, right = abs(losses[1, 0] - losses[0, 0]), abs(alone[1] - alone[0])
    return "sum for mean" if change > right else "divided twice"
