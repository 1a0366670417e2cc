# class: B21
# hint: saved-before-it-dies


def steps_done(n_steps, every, deaths):
    steps, saved = [], 0
    for after in [*deaths, None]:
        step, taken = saved, 0
        while step < n_steps and taken != after:
            step, taken = step + 1, taken + 1
            steps.append(step)
            if step % every == 0 and taken != after:
                saved = step
        if step == n_steps:
            break
    return steps
