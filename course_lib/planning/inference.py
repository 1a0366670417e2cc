"""Answering with a trained model on many workers: replicas side by side, or one cut in stages.

A replica answers a request alone: it takes as long as ever, and P of them answer P times as many.
A stage has some of the layers and hands what it has computed on to the next one: a request has a
longer way, but while one is in the last stage the next ones are behind it already, and no worker
needs to hold the whole model.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from course_lib.comm.communicator import Array, Communicator
from course_lib.comm.simulated.network import Network, check_network
from course_lib.models.chain import Chain
from course_lib.planning.stages import stage_parts
from course_lib.words.whole import whole

__all__ = [
    "Answers",
    "Service",
    "predict_replicas",
    "predict_stages",
    "serve_replicas",
    "serve_stages",
    "service",
]

ParametersOf = Callable[[int], Array]
"""Returns the parameters of one layer, by its number; a worker asks for its own layers only."""


class Answers(NamedTuple):
    """What one worker knows of the requests, by their numbers.

    Attributes
    ----------
    outputs : dict of int to array
        What the model makes of each request that this worker has finished.
    begun_s, done_s : dict of int to float
        When it began, and when it had finished, on the run's clock.
    """

    outputs: dict[int, Array]
    begun_s: dict[int, float]
    done_s: dict[int, float]


class Service(NamedTuple):
    """How well requests are served.

    Attributes
    ----------
    latency_s : float
        Seconds from when the first request is begun until it is answered: nobody is in its way.
    per_second : float
        Requests answered in a second, while there is no lack of them.
    """

    latency_s: float
    per_second: float


def serve_replicas(
    comm: Communicator, chain: Chain, parameters_of: ParametersOf, requests: Sequence[Any]
) -> Answers:
    """Answer requests with the whole model on every worker, dealt out one by one.

    A batch is sharded by making each worker's part a request.

    Parameters
    ----------
    comm : Communicator
        The workers.
    chain : Chain
        The model.
    parameters_of : callable
        Returns the parameters of a layer, by its number.
    requests : sequence of array, each of shape (m, ...)
        Examples; request k is answered by rank k mod P.

    Returns
    -------
    Answers
        Of this worker's requests.

    Notes
    -----
    Cost: no message. Latency T, and P / T requests a second, where one takes T.
    """
    parameters = [parameters_of(number) for number in range(len(chain.parts))]
    answers = Answers({}, {}, {})
    comm.barrier()
    for k in range(comm.rank, len(requests), comm.size):
        answers.begun_s[k] = comm.clock()
        x = chain.examples(requests[k])
        answers.outputs[k] = _forward(comm, chain, range(len(chain.parts)), parameters, x, k)
        answers.done_s[k] = comm.clock()
    return answers


def serve_stages(
    comm: Communicator,
    chain: Chain,
    parameters_of: ParametersOf,
    requests: Sequence[Any],
    stages: Sequence[int],
) -> Answers:
    """Answer requests with the model cut into stages, one on each worker.

    Parameters
    ----------
    comm : Communicator
        The workers, in the order of the stages.
    chain : Chain
        The model.
    parameters_of : callable
        Returns the parameters of a layer, by its number; asked for this worker's layers only.
    requests : sequence of array, each of shape (m, ...)
        Examples; only the first rank needs them, the others only their number.
    stages : sequence of int
        How many layers each rank has; see ``balanced_stages`` of ``course_lib.training.balanced``.

    Returns
    -------
    Answers
        The last rank has the outputs and when they were done, the first when they were begun.

    Raises
    ------
    TypeError, ValueError
        If the stages do not fit to the ranks and the layers; nothing has been sent then.

    Notes
    -----
    Cost: P - 1 messages a request, of the activations between stages. Latency: all stages, and for
    each cut alpha + n beta. Throughput: one request in the time of the slowest stage, or of the
    slowest message's bytes on a NIC if that is longer.

    Invariant: all receives are posted at the beginning, so that a request travels while the stage
    before and the one behind compute.
    """
    mine = stage_parts(stages, len(chain.parts), comm.size)[comm.rank]
    parameters = [parameters_of(number) for number in mine]
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    coming = [] if first else [comm.irecv(comm.rank - 1, tag=k) for k in range(len(requests))]
    leaving, answers = [], Answers({}, {}, {})
    comm.barrier()
    for k, request in enumerate(requests):
        if first:
            answers.begun_s[k] = comm.clock()
        x = chain.examples(request) if first else coming[k].wait()
        y = _forward(comm, chain, mine, parameters, x, k)
        if last:
            answers.outputs[k], answers.done_s[k] = y, comm.clock()
        else:
            leaving.append(comm.isend(y, comm.rank + 1, tag=k))
    for message in leaving:
        message.wait()
    return answers


def _forward(
    comm: Communicator,
    chain: Chain,
    numbers: Iterable[int],
    parameters: Sequence[Array],
    x: Array,
    request: int,
) -> Array:
    """Go forward through some layers."""
    parts = [chain.parts[number] for number in numbers]
    flops = sum(part.flops(len(x)).forward for part in parts)
    with comm.compute(f"request {request}", flops=flops):
        for part, w in zip(parts, parameters, strict=True):
            x, _ = part.forward(w, x)
    return x


def service(answers: Sequence[Answers]) -> Service:
    """Say how well the requests of a run were served.

    Parameters
    ----------
    answers : sequence of Answers
        What all ranks returned.

    Returns
    -------
    Service
        The first request's latency, and the answers a second that followed the first one.

    Raises
    ------
    ValueError
        If all requests were answered at one time: it takes some that follow others.
    """
    begun_s, done_s = dict[int, float](), dict[int, float]()
    for answer in answers:
        begun_s |= answer.begun_s
        done_s |= answer.done_s
    first_s, last_s = min(done_s.values(), default=0.0), max(done_s.values(), default=0.0)
    if first_s == last_s:
        raise ValueError(f"answers must be of requests that follow others, got {len(done_s)}")
    later = sum(seconds > first_s for seconds in done_s.values())
    return Service(done_s[0] - begun_s[0], later / (last_s - first_s))


def predict_replicas(chain: Chain, n_examples: int, network: Network, workers: int) -> Service:
    """Predict what ``serve_replicas`` reaches.

    Parameters
    ----------
    chain : Chain
        The model.
    n_examples : int
        How many examples a request has.
    network : Network
        How fast ranks compute; the slowest one counts, as requests are dealt out evenly.
    workers : int
        How many replicas.

    Returns
    -------
    Service
        A request's time, and P in that time.
    """
    n_examples = whole("n_examples", n_examples, 1)
    check_network(network)
    flops = sum(part.flops(n_examples).forward for part in chain.parts)
    request_s = flops / min(network.speeds(whole("workers", workers, 1)))
    return Service(request_s, workers / request_s)


def predict_stages(
    chain: Chain, n_examples: int, network: Network, stages: Sequence[int]
) -> Service:
    """Predict what ``serve_stages`` reaches.

    Parameters
    ----------
    chain : Chain
        The model.
    n_examples : int
        How many examples a request has.
    network : Network
        One in which any two ranks are connected alike.
    stages : sequence of int
        How many layers each rank has.

    Returns
    -------
    Service
        All stages and all cuts, and one request in the time of the slowest of them.

    Examples
    --------
    >>> from course_lib import networks
    >>> from course_lib.models.deep_mlp import deep_mlp
    >>> model = deep_mlp(1000, 1000, 1000, 1000, 10)
    >>> whole = predict_stages(model, 8, networks.ethernet_10g, (4,))
    >>> halves = predict_stages(model, 8, networks.ethernet_10g, (2, 2))
    >>> f"{halves.latency_s / whole.latency_s:.3f} {halves.per_second / whole.per_second:.3f}"
    '1.015 1.505'
    """
    n_examples = whole("n_examples", n_examples, 1)
    check_network(network, star=True)
    speeds, stage_s, nic_s = network.speeds(len(stages)), [], []
    for numbers, speed in zip(
        stage_parts(stages, len(chain.parts), len(stages)), speeds, strict=True
    ):
        stage_s.append(sum(chain.parts[k].flops(n_examples).forward for k in numbers) / speed)
        n_bytes = n_examples * math.prod(chain.shapes[numbers.stop]) * chain.dtype.itemsize
        nic_s.append(n_bytes * network.beta_s_per_byte)
    del nic_s[-1]  # the last one keeps what it has
    latency_s = sum(stage_s) + sum(nic_s) + len(nic_s) * network.latency_s
    return Service(latency_s, 1 / max(stage_s + nic_s))
