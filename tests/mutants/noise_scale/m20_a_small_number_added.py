# class: C5
# hint: small-gradients
def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return ((gradients - mean) ** 2).sum(axis=1).mean() / (mean @ mean + 1e-12)
