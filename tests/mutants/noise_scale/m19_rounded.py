# class: C2
# hint: rounded


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    spread = ((gradients - mean) ** 2).sum(axis=1).mean()
    return float(round(spread / (mean @ mean)))
