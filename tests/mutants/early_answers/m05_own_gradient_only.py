# class: B13
# hint: not-all-workers
def early_answers(trace):
    workers = range(1, trace.size)
    pushes = [trace.between(worker, 0) for worker in workers]
    answers = [trace.between(0, worker)[1:] for worker in workers]
    early = []
    for step in range(len(pushes[0])):
        early.append(
            sum(
                answered[step].posted_s < pushed[step].received_s
                for answered, pushed in zip(answers, pushes, strict=True)
            )
        )
    return early
