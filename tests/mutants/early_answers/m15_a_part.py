# class: C2
# hint: how-many


def early_answers(trace):
    workers, early = range(1, trace.size), []
    for step in range(len(trace.between(1, 0))):
        came = sorted(trace.between(worker, 0)[step].received_s for worker in workers)
        answers = [trace.between(0, worker)[step + 1] for worker in workers]
        early.append(sum(sent.posted_s < came[-1] for sent in answers) / len(came))
    return early
