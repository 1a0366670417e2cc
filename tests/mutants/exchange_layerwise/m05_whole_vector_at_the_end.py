# class: B15
# hint: too-long
import numpy as np


def exchange_layerwise(comm, backward, allreduce):
    found = dict(backward(comm))
    gradients = [found[layer] for layer in sorted(found)]
    whole = allreduce(comm, np.concatenate([gradient.ravel() for gradient in gradients]))
    ends = np.cumsum([gradient.size for gradient in gradients])[:-1]
    parts = np.split(whole, ends)
    return [part.reshape(g.shape) for part, g in zip(parts, gradients, strict=True)]
