import numpy as np


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return gradients.var(axis=0).sum() / np.sum(mean**2)
