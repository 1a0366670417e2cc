# class: C5
# hint: before-the-first-step
import numpy as np


def diagnose_curve(losses, alone):
    alike = np.isclose(losses, losses[:, :1], rtol=1e-12, atol=0).all(axis=1)
    if not alike[0]:
        return "no broadcast"
    if not alike.all():
        return "no all-reduce"
    mine = losses[:, 0]
    if np.allclose(mine, alone, rtol=1e-9, atol=0):
        return "fine"
    return "sum for mean" if abs(mine[1] - mine[0]) > abs(alone[1] - alone[0]) else "divided twice"
