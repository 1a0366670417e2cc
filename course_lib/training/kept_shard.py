"""A server's part of a model in files, from which it goes on when it was lost and is back."""

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib.training.optimizer import Stepper, copied
from course_lib.words.namespace import as_numpy
from course_lib.words.whole import whole

__all__ = ["KeepShards", "KeptShard"]


@dataclass(frozen=True)
class KeepShards:
    """Where the servers of a training keep their shards, and how often.

    In a run with ``survive=True`` a server that is lost and started again goes on with its shard as
    it was written last. Updates since then are lost with it, are not made again, and are counted:
    its last note ``"lost_updates"`` says how many, all in all.

    Attributes
    ----------
    folder : Path or str
        A folder that all servers see, for this run alone: what an earlier one has left is replaced.
    every : int, default: 10
        After how many updates a shard is written: as many can be lost at most.
    """

    folder: Path | str
    every: int = 10

    def __post_init__(self) -> None:
        """Refuse what cannot be done, before anything is started."""
        whole("every", self.every, least=1)
        if not Path(self.folder).is_dir():
            raise ValueError(f"folder must be a folder that is there, got {str(self.folder)!r}")


class KeptShard:
    """What a server has done: its shard is written now and then, each lot's number at once.

    A number in the log and not in the checkpoint is an update that is lost with its server: it has
    been acknowledged, so nobody computes it again. A server that was lost before it had written
    anything has acknowledged nothing, and begins anew.

    Parameters
    ----------
    stepper : Stepper
        What steps the shard. Where a server is back, it is given what was kept.
    keeping : KeepShards or None
        Where; None keeps nothing.
    rank : int
        The server's.
    is_back : bool, default: False
        Whether it was lost and started again.
    run_name : str, default: ""
        That of the run: other files are of an earlier one.

    Attributes
    ----------
    done : set of int
        The lots whose updates have been made, those that were lost with them.
    dealt : list of tuple of int
        Which lot was given to which rank, in order.
    n_lost : int
        How many updates have been lost, in all losses of this server.
    goes_on : bool
        Whether it is back and something had been written.

    Raises
    ------
    RuntimeError
        If it is back, and nothing is kept.

    Notes
    -----
    Files are handed to the system, which is enough when a process dies; not when a machine does.
    """

    def __init__(
        self, stepper: Stepper, keeping: KeepShards | None, rank: int, is_back: bool = False,
        run_name: str = "",
    ) -> None:  # fmt: skip
        self._stepper = stepper
        self.done: set[int] = set()
        self.dealt: list[tuple[int, int]] = []
        self.n_lost = self._n_kept = 0
        self._file = self._log = None
        if keeping is not None:
            self._every = keeping.every
            self._file = Path(keeping.folder) / f"shard_{rank}.npz"
            self._log = Path(keeping.folder) / f"shard_{rank}.log"
        if is_back and keeping is None:
            raise RuntimeError(
                f"rank {rank} keeps a part of the model and was lost, with all updates: the "
                "training cannot go on; keep=KeepShards(folder, every) writes a checkpoint of it "
                "every so many updates"
            )
        first = f"run {run_name}\n".encode("ascii")
        self.goes_on = is_back and self._is_of_run(first)
        if self.goes_on:
            self._go_on(first)
        elif self._log is not None:
            self.save()
            self._log.write_bytes(first)  # last: from here on the shard is this run's

    def update_done(self, lot: int) -> None:
        """Write down that a lot's update has been made; it may be acknowledged then."""
        self.done.add(lot)
        self._write(f"done {lot}\n")
        if self._file is not None and len(self.done) - self._n_kept >= self._every:
            self.save()

    def deal(self, lot: int, rank: int) -> None:
        """Write down who is given a lot."""
        if self._log is not None:
            self.dealt.append((lot, rank))
        self._write(f"dealt {lot} {rank}\n")

    def save(self) -> None:
        """Write the shard, whole or not at all."""
        if self._file is None:
            return
        stepper, self._n_kept = self._stepper, len(self.done)
        state = {f"state_{name}": as_numpy(array) for name, array in stepper.state.items()}
        numbers = np.array([stepper.n_steps, self._n_kept, self.n_lost])
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, w=as_numpy(stepper.w), numbers=numbers, **state)
        half = self._file.with_suffix(".new")
        half.write_bytes(file.getvalue())
        half.replace(self._file)

    def _write(self, line: str) -> None:
        if self._log is not None:
            with self._log.open("a", encoding="ascii", newline="\n") as log:
                log.write(line)

    def _is_of_run(self, first: bytes) -> bool:
        """Say whether a server of this run has written here."""
        if self._log is None or not self._log.is_file():
            return False
        return self._log.read_bytes().startswith(first)

    def _go_on(self, first: bytes) -> None:
        """Read the last checkpoint, and what was done since."""
        assert self._file is not None
        assert self._log is not None
        with np.load(self._file, allow_pickle=False) as kept:
            stepper, (n_steps, n_kept, n_lost) = self._stepper, kept["numbers"].tolist()
            stepper.w[...] = copied(kept["w"], stepper.w)
            names = [name for name in kept.files if name.startswith("state_")]
            stepper.load({name.removeprefix("state_"): kept[name] for name in names})
            stepper.n_steps = n_steps
        log = self._log.read_bytes()
        log = log[: log.rfind(b"\n") + 1]  # without a line in the middle of which it was lost
        os.truncate(self._log, len(log))
        done = log.removeprefix(first).decode("ascii").splitlines()
        for kind, *numbers in map(str.split, done):
            if kind == "done":
                self.done.add(int(numbers[0]))
            else:
                self.dealt.append((int(numbers[0]), int(numbers[1])))
        self._n_kept, self.n_lost = n_kept, n_lost + len(self.done) - n_kept
