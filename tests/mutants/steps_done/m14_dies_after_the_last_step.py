# class: B21
# hint: at-the-end
def steps_done(n_steps, every, deaths):
    steps, saved = [], 0
    for after in deaths:
        end = saved + after
        if end > n_steps:
            break
        steps += range(saved + 1, end + 1)
        saved = end // every * every
    return [*steps, *range(saved + 1, n_steps + 1)]
