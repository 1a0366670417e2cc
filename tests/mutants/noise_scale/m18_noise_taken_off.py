# class: B3
# hint: unbiased


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    spread = ((gradients - mean) ** 2).sum(axis=1).mean()
    return spread / max(mean @ mean - spread / len(gradients), 1e-12)
