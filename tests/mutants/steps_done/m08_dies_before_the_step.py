# class: B4
# hint: step-that-ends


def steps_done(n_steps, every, deaths):
    steps, saved = [], 0
    for after in [*deaths, None]:
        step, taken = saved, 0
        while step < n_steps and (after is None or taken < after - 1):
            step, taken = step + 1, taken + 1
            steps.append(step)
            if step % every == 0:
                saved = step
        if step == n_steps:
            break
    return steps
