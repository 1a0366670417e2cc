# class: A1
# hint: constant


def noise_scale(gradients):
    return 0.0
