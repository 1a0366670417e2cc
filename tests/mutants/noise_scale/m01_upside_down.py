# class: B3
# hint: upside-down


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return (mean @ mean) / ((gradients - mean) ** 2).sum(axis=1).mean()
