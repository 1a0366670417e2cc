"""A step of training by a schedule: one text carries out any of them, in any world."""

from collections.abc import Mapping, Sequence

from course_lib.comm.communicator import Communicator
from course_lib.comm.pending import Pending
from course_lib.models.chain import partial_loss
from course_lib.models.model import Array, Batch
from course_lib.pipelines.schedule import Action, Schedule
from course_lib.training.stages import Stage
from course_lib.words.split import split_evenly

__all__ = ["Step"]

_WORDS = {"F": "forward", "I": "input gradient", "W": "weight gradient", "B": "backward"}


class Step:
    """One rank's part of a step: its actions in their order, and the messages between them.

    All that others will send in this step is known from their orders, and so a rank begins to
    receive it before it does anything else. What goes wrong in most pipelines, two ranks that both
    send and do not receive, cannot.

    Parameters
    ----------
    comm : Communicator
        The ranks of the schedule; all of them must make a step.
    schedule : Schedule
        What to do; it has been checked.
    stages : mapping of int to Stage
        This rank's, by their numbers.
    batch : tuple of arrays, shapes (m, ...) and (m,)
        Examples, as the first layer wants them, and the numbers of their classes.
    share : float, default: 1.0
        How much of a larger batch they are.
    """

    def __init__(
        self, comm: Communicator, schedule: Schedule, stages: Mapping[int, Stage], batch: Batch,
        share: float = 1.0,
    ) -> None:  # fmt: skip
        self.comm, self.schedule, self.stages = comm, schedule, stages
        self.X, self.y = batch
        self.share = share
        self.rows = split_evenly(len(self.y), schedule.microbatches)
        self.here: dict[Action, Array] = {}  # made by one of our stages for another
        self.coming = {
            made: comm.irecv(src, tag=str(made))
            for src in range(comm.size) if src != comm.rank
            for made, dst in self._sent_by(src) if dst == comm.rank
        }  # fmt: skip
        self.going: dict[Action, Pending[None]] = {}
        self.loss = 0.0

    def perform(self) -> float:
        """Do all actions; return this rank's part of the loss."""
        for action in self._order(self.comm.rank):
            stage, n = self.stages[action.stage], self._size(action)
            given = self._given(action)
            name = f"{_WORDS[action.kind]} {action}"
            with self.comm.compute(name, flops=stage.flops(action.kind, n)):
                result = self._computed(action, stage, given)
            self._hand_on(action, result)
            if action.kind != "I":
                n_held = sum(stage.n_held for stage in self.stages.values())
                self.comm.note("activations_held", n_held)
        for message in self.going.values():  # slopes: nothing comes back that says they arrived
            message.wait()
        return self.loss

    def _order(self, rank: int) -> Sequence[Action]:
        """Return a rank's actions without those for micro-batches that have no example."""
        return [action for action in self.schedule.orders[rank] if self._size(action)]

    def _size(self, action: Action) -> int:
        rows = self.rows[action.microbatch]
        return int(rows.stop - rows.start)

    def _sent_by(self, src: int) -> list[tuple[Action, int]]:
        """Return what a rank makes for other ranks, and for whom, in the order in which it does."""
        sent = [(action, self._home(action)) for action in self._order(src)]
        return [(_known_as(action), dst) for action, dst in sent if dst not in (None, src)]

    def _home(self, action: Action) -> int | None:
        """Return the rank that needs what an action makes; None if no other stage does."""
        if action.kind == "W":
            return None
        to = action.stage + 1 if action.kind == "F" else action.stage - 1
        return self.schedule.placement[to] if 0 <= to < self.schedule.n_stages else None

    def _given(self, action: Action) -> Array:
        """Wait for what an action needs from another stage."""
        kind, k, microbatch = action
        if kind == "W":
            return None
        if kind == "F" and k == 0:
            return self.X[self.rows[microbatch]]
        other = Action("F", k - 1, microbatch) if kind == "F" else Action("I", k + 1, microbatch)
        found = self.here.pop(other) if other in self.here else self.coming.pop(other).wait()
        if kind != "F" and (sent := self.going.pop(Action("F", k, microbatch), None)):
            sent.wait()  # it has been received, or nothing could have come back
        return found

    def _computed(self, action: Action, stage: Stage, given: Array) -> Array:
        kind, k, microbatch = action
        result = None
        if kind == "F":
            result = stage.forward(given, microbatch)
            if k == self.schedule.n_stages - 1:
                self._begin_back(action, result)
        if kind in "IB":
            result = stage.input_gradient(given, microbatch)
        if kind in "WB":
            stage.weight_gradient(microbatch)
        return result

    def _begin_back(self, action: Action, outputs: Array) -> None:
        """Compute the loss: its slope comes to the last stage as if from a stage behind it."""
        weight = self.share * self._size(action) / len(self.y)  # the parts add up to the mean
        y = self.y[self.rows[action.microbatch]]
        loss, slope = partial_loss(outputs, y, weight)
        self.loss += loss
        self.here[Action("I", action.stage + 1, action.microbatch)] = slope

    def _hand_on(self, action: Action, result: Array) -> None:
        """Give what an action has made to the stage that needs it, wherever that is."""
        home, made = self._home(action), _known_as(action)
        if home == self.comm.rank:
            self.here[made] = result
        elif home is not None:
            self.going[made] = self.comm.isend(result, home, tag=str(made))


def _known_as(action: Action) -> Action:
    """Name what another stage gets from an action: the slope is the same from an I and a B."""
    return action if action.kind == "F" else action._replace(kind="I")
