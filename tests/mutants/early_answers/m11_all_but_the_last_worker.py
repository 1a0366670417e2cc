# class: A5
# hint: by-the-times
def early_answers(trace):
    workers = range(1, trace.size)
    pushes = [trace.between(worker, 0) for worker in workers]
    answers = [trace.between(0, worker)[1:] for worker in workers]
    early = []
    for step in range(len(pushes[0])):
        all_there_s = max(pushed[step].received_s for pushed in pushes)
        early.append(sum(answered[step].posted_s < all_there_s for answered in answers))
    return [trace.size - 2] * len(early)
