# class: B3
# hint: mean-of-lengths


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return ((gradients - mean) ** 2).sum(axis=1).mean() / (gradients**2).sum(axis=1).mean()
