# class: B3
# hint: sample


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return gradients.var(axis=0, ddof=1).sum() / (mean @ mean)
