import numpy as np


def diagnose_curve(losses, alone):
    apart = np.ptp(losses, axis=1)
    if apart[0] > 0:
        return "no broadcast"
    if apart.max() > 0:
        return "no all-reduce"
    first = np.diff(losses[:2, 0])[0], np.diff(alone[:2])[0]
    if np.isclose(losses.mean(axis=1), alone, rtol=1e-9, atol=0).all():
        return "fine"
    return "sum for mean" if abs(first[0]) > abs(first[1]) else "divided twice"
