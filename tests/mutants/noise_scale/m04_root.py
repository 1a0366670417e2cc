# class: B3
# hint: root
import numpy as np


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return np.sqrt(((gradients - mean) ** 2).sum(axis=1).mean() / (mean @ mean))
