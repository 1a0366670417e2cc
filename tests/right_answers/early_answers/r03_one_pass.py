def early_answers(trace):
    pushed, answered = {}, {}
    seen = dict.fromkeys(((m.src, m.dst) for m in trace.messages), 0)
    for m in sorted(trace.messages, key=lambda m: m.posted_s):
        number = seen[m.src, m.dst]
        seen[m.src, m.dst] += 1
        if m.dst == 0:
            pushed[number] = max(pushed.get(number, 0.0), m.received_s)
        elif number:
            answered.setdefault(number - 1, []).append(m.posted_s)
    return tuple(
        len([time_s for time_s in answered[step] if time_s < last_s])
        for step, last_s in sorted(pushed.items())
    )
