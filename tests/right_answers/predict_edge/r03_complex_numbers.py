import cmath


def predict_edge(n_replicas, curvature):
    turn = cmath.exp(1j * cmath.pi / (2 * n_replicas - 1))
    answer = {"mean_staleness": int(n_replicas) - 1}
    answer["largest_rate"] = abs(turn - 1) / curvature
    answer["momentum"] = (n_replicas - 1) / n_replicas
    return answer
