# class: B21
# hint: not-from-the-start


def steps_done(n_steps, every, deaths):
    steps = []
    for after in [*deaths, None]:
        step, taken = 0, 0
        while step < n_steps and taken != after:
            step, taken = step + 1, taken + 1
            steps.append(step)
        if step == n_steps:
            break
    return steps
