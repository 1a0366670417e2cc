def predict_winner(n_workers, gradient_us, message_us, factor, n_sync, n_async):
    turns = [2 * message_us + gradient_us] * (n_workers - 1)
    turns.append(2 * message_us + gradient_us * factor)
    answer = {"all_us": n_sync * max(turns), "but_one_us": n_sync * sorted(turns)[-2]}
    answer["nobody_us"] = n_async / sum(1 / turn for turn in turns)
    best = min(answer, key=answer.get)
    answer["first"] = ["all_us", "but_one_us", "nobody_us"].index(best)
    return answer
