"""Latency and throughput of replicas of some stages, predicted, then measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network
from course_lib.models.deep_mlp import deep_mlp
from course_lib.planning.inference import serve_stages

__all__ = ["TASK"]


class PredictServing(PredictTask):
    """When the first and the last request are answered, beside one worker, and who is idle."""

    name = "predict_serving"
    title = "Predict when replicas of stages answer, then measure it."
    questions = ("n_replicas", "n_stages", "stage_us", "message_us", "n_requests")
    forbidden = ("course_lib.planning", "course_lib.lectures", "course_lib.schemes")
    other_number = "draw what two stages do with three requests; {name} can be read off"

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with the lecture's numbers, then one worker, and a number that leaves a rest."""
        return (
            (1, 4, 1000, 100, 8), (4, 1, 4000, 100, 8), (2, 2, 700, 50, 7), (1, 1, 300, 20, 3),
            (3, 2, 250, 250, 10), (2, 3, 90, 0, 1), (1, 3, 100, 400, 5),
        )  # fmt: skip

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Serve, and read off when what was answered."""
        n_replicas, n_stages, stage_us, message_us, n_requests = numbers
        values, spans = _served(n_replicas, n_stages, stage_us, message_us, n_requests)
        ends = {k: at for answers in values for k, at in answers.items()}
        last_stage = [end - start for rank, start, end in spans if rank == n_stages - 1]
        alone, _ = _served(1, 1, n_stages * stage_us, message_us, n_requests)
        return {
            "first_us": _us(ends[0]), "all_us": _us(max(ends.values())),
            "alone_us": _us(max(alone[0].values())),
            "idle_us": _us(max(ends.values()) - sum(last_stage)),
        }  # fmt: skip

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        replicas, k, s, m, n = numbers
        first = k * s + (k - 1) * m
        rounds = -(-n // replicas)
        return {
            "first_us": [
                ("one-after-the-other", "the stages come one after the other: the first request "
                 "goes through all of them", s),
                ("messages-too", "between two stages lies a message", k * s),
                ("one-less", "between k stages there are k - 1 messages: the first stage has the "
                 "request, the last keeps the answer", k * (s + m)),
                ("one-after-the-other", "one request is in one place: replicas do not help it",
                 first / replicas),
            ],
            "all_us": _of_all(*numbers),
            "alone_us": [
                ("all-layers", "one worker has all stages' layers: k of them for each request",
                 n * s),
                ("no-messages", "one worker sends no message", n * first),
                ("all-requests", "one worker answers all of them", rounds * k * s),
                ("all-requests", "one worker answers all of them", k * s),
            ],
            "idle_us": _of_idle(*numbers),
        }  # fmt: skip


def _of_all(replicas: int, k: int, s: int, m: int, n: int) -> list[Alternative]:
    first, rounds = k * s + (k - 1) * m, -(-n // replicas)
    return [
        ("behind-each-other", "the second request need not wait until the first has been "
         "answered: it is one stage behind", rounds * first),
        ("shared-out", "requests are dealt out to the replicas", first + (n - 1) * s),
        ("behind-each-other", "requests in a replica follow each other by a stage",
         n * first),
        ("rounded-up", "the replica with the most requests is done last: round up",
         first + (n // replicas - 1) * s),
        ("rounded-up", "a replica answers whole requests: round up",
         first + (n / replicas - 1) * s),
        ("first-counts", "after the first one there are so many fewer",
         first + rounds * s),
        ("hidden-messages", "the messages travel while the stages compute: after the "
         "first answer there is one each stage_us", first + (rounds - 1) * (s + m)),
        ("messages-overlap", "messages do not hold up each other: also where one takes longer than "
         "a stage, an answer comes each stage_us", first + (rounds - 1) * max(s, m)),
        ("messages-too", "the way of the first request has messages",
         k * s + (rounds - 1) * s),
    ]  # fmt: skip


def _of_idle(replicas: int, k: int, s: int, m: int, n: int) -> list[Alternative]:
    first, rounds = k * s + (k - 1) * m, -(-n // replicas)
    return [
        ("last-stage", "what is asked for is the last stage's: it has nothing to do until "
         "the first request has come to it", 0),
        ("until-it-comes", "messages are waited for, too", (k - 1) * s),
        ("until-it-comes", "the last stage is idle until the first request comes, not "
         "until it is answered", first),
        ("until-it-comes", "before the last of k stages there are k - 1 stages and as many "
         "messages", k * s + (k - 1) * m - m),
        ("until-it-comes", "before the last of k stages there are k - 1 stages and as many "
         "messages", (k - 1) * m),
        ("last-stage", "what is asked for is the last stage's of replica 0, not that of "
         "all its stages", k * (first + (rounds - 1) * s - rounds * s)),
        ("its-requests", "replica 0 answers its share of the requests, not all",
         first + (rounds - 1) * s - n * s),
        ("no-more-gaps", "it is idle at the beginning only: of its replica it is the last "
         "to be done", 2 * (k - 1) * (s + m)),
        ("no-more-gaps", "after the first request it is never idle: the next one is there",
         (k - 1) * (s + m) + (rounds - 1) * m),
    ]  # fmt: skip


def _us(seconds: float) -> int:
    return round(1e6 * seconds)


def _served(
    n_replicas: int, n_stages: int, stage_us: int, message_us: int, n_requests: int
) -> tuple[list[dict[int, float]], list[tuple[int, float, float]]]:
    """Return when requests were done, by rank, and who computed from when until when."""
    chain = deep_mlp(*[2] * (n_stages + 1))
    speeds = [1e6 * part.flops(1).forward / stage_us for part in chain.parts]
    network = Network("a service", message_us * 1e-6, float("inf"), tuple(speeds * n_replicas))

    def answers(comm: Communicator) -> dict[int, float]:
        replica = comm.rank // n_stages
        group = comm.split(replica)
        assert group is not None
        mine = range(replica, n_requests, n_replicas)
        asked = [np.ones((1, 2)) for _ in mine]
        served = serve_stages(group, chain, chain.initial_of, asked, [1] * n_stages)
        return {mine[k]: at for k, at in served.done_s.items()}

    made = run(answers, workers=n_replicas * n_stages, backend="simulated", network=network)
    assert made.trace is not None
    return made.values, [(c.rank, c.start_s, c.end_s) for c in made.trace.computes]


TASK = PredictServing()
