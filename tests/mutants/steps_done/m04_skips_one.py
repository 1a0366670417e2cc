# class: B21
# hint: next-one


def steps_done(n_steps, every, deaths):
    steps, saved = [], 0
    for after in [*deaths, None]:
        step, taken = min(saved + (saved > 0), n_steps), 0
        while step < n_steps and taken != after:
            step, taken = step + 1, taken + 1
            steps.append(step)
            if step % every == 0:
                saved = step
        if step == n_steps:
            break
    return steps
