# class: C2
# hint: wrong-axis


def noise_scale(gradients):
    mean = gradients.mean(axis=1)
    return ((gradients.T - mean) ** 2).sum(axis=1).mean() / (mean @ mean)
