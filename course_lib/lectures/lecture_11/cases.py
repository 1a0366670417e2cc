"""Who takes part in the race, and the rules that are the same for all."""

import math
from dataclasses import dataclass, replace

from course_lib.training import Plan

__all__ = ["ASYNCHRONOUS", "EVERY", "SERVED", "Case", "Rules", "tuned_as"]

SERVED = ("parameter_server", "backup_workers", "bounded_staleness", "downpour")
"""Those with a server, on a rank besides the workers."""
ASYNCHRONOUS = ("bounded_staleness", "downpour")
"""Those in which each gradient is an update, so that a batch is one worker's."""
EVERY = 8
"""Local SGD's H on one network."""
_SYNCHRONOUS = ("data_parallel", "parameter_server")


@dataclass(frozen=True)
class Rules:
    """What is the same for all.

    Attributes
    ----------
    target : float
        The loss over all examples to get down to.
    epochs, far_epochs : int
        After which a training ends: on one network, and over two sites.
    per_worker : int
        How many images a worker takes for one gradient.
    flops_per_s : float
        How fast a rank computes, if it is no straggler.
    look_after : int
        After how many images the loss over all examples is computed, which takes no virtual time.
    n_images : int
        How many images there are to train on.
    """

    target: float = 0.1
    epochs: int = 12
    far_epochs: int = 22
    per_worker: int = 16
    flops_per_s: float = 5e8
    look_after: int = 128
    n_images: int = 1437

    def batch_of(self, scheme: str, workers: int) -> int:
        """Say how many images an update is of.

        Parameters
        ----------
        scheme : str
            A name of ``racing.SCHEMES``.
        workers : int
            How many compute.

        Returns
        -------
        int
            Of all workers together, or of one where each gradient is an update.
        """
        return self.per_worker * (1 if scheme in ASYNCHRONOUS else workers)


@dataclass(frozen=True)
class Case:
    """Who trains, and where.

    Attributes
    ----------
    scheme : str
        A name of ``racing.SCHEMES``.
    workers : int
        How many compute.
    batch : int
        The plan's: of all workers together, or of one where each gradient is an update.
    straggler : float, default: 1.0
        How many times longer the last rank computes.
    every : int, default: 0
        Local SGD's H.
    is_far : bool, default: False
        Whether the workers are on two sites.
    sent : int, default: 0
        How many numbers of each gradient ``compressed`` sends.
    """

    scheme: str
    workers: int
    batch: int
    straggler: float = 1.0
    every: int = 0
    is_far: bool = False
    sent: int = 0

    @property
    def ranks(self) -> int:
        """The workers, and a server where there is one."""
        return self.workers + (self.scheme in SERVED)

    def plan(self, rate: float, momentum: float, seed: int, rules: Rules) -> Plan:
        """Return the plan of a training.

        Parameters
        ----------
        rate, momentum : float
            Of the training.
        seed : int
            Of the first parameters and the order of the images.
        rules : Rules
            How many epochs.

        Returns
        -------
        Plan
            For the scheme.
        """
        return Plan(rate, self.batch, self._epochs(rules), momentum, seed=seed)

    def updates_per_epoch(self, rules: Rules) -> int:
        """Count the updates in which all images are seen once.

        Parameters
        ----------
        rules : Rules
            How many images there are.

        Returns
        -------
        int
            The last batch may be smaller.
        """
        return math.ceil(rules.n_images / self.batch)

    def n_updates(self, rules: Rules) -> int:
        """Count the updates of a whole training.

        Parameters
        ----------
        rules : Rules
            How many images and epochs.

        Returns
        -------
        int
            Of all epochs.
        """
        return self._epochs(rules) * self.updates_per_epoch(rules)

    def _epochs(self, rules: Rules) -> int:
        return rules.far_epochs if self.is_far else rules.epochs


def tuned_as(case: Case) -> Case:
    """Find the case that has the same updates, and so the same best rate, and costs least to run.

    Parameters
    ----------
    case : Case
        Who trains, and where.

    Returns
    -------
    Case
        Synchronous gradients add up to the serial one of the batch, and a mean after every step is
        as good. Where all wait for all, neither speeds nor the network alter the updates.
    """
    if case.scheme in _SYNCHRONOUS or case.every == 1:
        return Case("serial", 1, case.batch)
    if case.scheme == "compressed":
        return replace(case, straggler=1.0)
    if case.scheme == "local_sgd":
        return replace(case, straggler=1.0, is_far=case.is_far and case.every != EVERY)
    return case
