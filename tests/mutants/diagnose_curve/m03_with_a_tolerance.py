# class: C5
# hint: before-the-first-step
import numpy as np


def diagnose_curve(losses, alone):
    if not np.allclose(losses[0], losses[0, 0]):
        return "no broadcast"
    if not np.allclose(losses, losses[:, :1]):
        return "no all-reduce"
    if np.allclose(losses[:, 0], alone, rtol=1e-9, atol=0):
        return "fine"
    change, right = abs(losses[1, 0] - losses[0, 0]), abs(alone[1] - alone[0])
    return "sum for mean" if change > right else "divided twice"
