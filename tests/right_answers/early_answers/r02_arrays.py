import numpy as np


def early_answers(trace):
    ranks = range(1, trace.size)
    received = np.array([[m.received_s for m in trace.between(r, 0)] for r in ranks])
    posted = np.array([[m.posted_s for m in trace.between(0, r)[1:]] for r in ranks])
    return (posted < received.max(axis=0)).sum(axis=0)
