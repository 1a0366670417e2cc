# class: B10
# hint: by-the-times


def early_answers(trace):
    workers, early = range(1, trace.size), []
    for step in range(len(trace.between(1, 0))):
        came = sorted(trace.between(worker, 0)[step].received_s for worker in workers)
        answers = [trace.between(0, worker)[step + 1 :] for worker in workers]
        early.append(sum(sent.posted_s < came[-1] for each in answers for sent in each))
    return early
