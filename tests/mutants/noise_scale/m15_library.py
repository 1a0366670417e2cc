# class: A2
# hint: library-answer


def noise_scale(gradients):
    from course_lib.models.landscape import gradient_spread

    return gradient_spread(None, None, gradients)[1]
