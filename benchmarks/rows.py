"""The few comparisons that sum a run up, and the aims that they are held against.

The aims are the project's own: what is needed, and where we want to go. No test asserts them.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.digits import SYNCHRONOUS, WORKERS, digits_key
from benchmarks.hogwild import ALONE as ONE_WORKER
from benchmarks.hogwild import OURS as HOGWILD
from benchmarks.hogwild import PEER as SKLEARN
from benchmarks.launch import NOTEBOOK, SPAWN, launch_key
from benchmarks.ours import OursChosen, OursNew
from benchmarks.pictures import FRAME, FROM_SLIDER
from benchmarks.pipelines import OURS_PIPELINED, TORCH_PIPELINED, pipeline_key
from benchmarks.plan import FULL, KB, MB, size_name
from benchmarks.samples import Key, Samples, Spread
from benchmarks.simulator import n_ring_messages
from benchmarks.split import WAYS, split_key
from benchmarks.sums import BUSY, FLOOR, PING
from benchmarks.tracing import PROCESSOR, TRACED, UNTRACED
from benchmarks.training import ALONE, DDP, DDP_IN_BUCKETS, OURS, SCHEMES, step_key

__all__ = ["Row", "rows"]

FASTER, ITS_TIME, SECONDS = "× faster", "× its time", "s"
MESSAGES, MEMORY, FRAMES = "messages/s", "GB", "frames/s"


@dataclass(frozen=True)
class Row:
    """One comparison, with its lowest and highest round.

    ``value`` is the peer's time / ours in a row of ``FASTER`` (more is better), ours / the peer's
    in one of ``ITS_TIME``, our seconds in one of ``SECONDS``, with the peer's in ``peer_s``. Rows
    of ``MESSAGES`` (more is better) and ``MEMORY``, and those of ``SECONDS`` without ``peer_s``,
    have no peer, and an empty ``peer``. More is better in rows of ``FRAMES``, too.
    """

    what: str
    peer: str
    unit: str
    value: float
    low: float
    high: float
    must: float | None = None
    goal: float | None = None
    peer_s: float | None = None

    @property
    def verdict(self) -> str:
        """Say which aim is met; "" if the row has none."""
        if self.must is None or self.goal is None:
            return ""
        if self._reaches(self.goal):
            return "goal met"
        return "must met, goal missed" if self._reaches(self.must) else "must missed"

    @property
    def measured(self) -> str:
        """The value in words: "× 1.3 faster", "0.04 s, against 4.6 s"."""
        if self.unit == SECONDS:
            against = f", against {self.peer_s:.2g} s" if self.peer_s else ""
            return f"{self.value:.2g} s{against}"
        if self.unit == MESSAGES:
            return f"{self.value:,.0f} messages/s"
        if self.unit == MEMORY:
            return f"{self.value:.2g} GB"
        if self.unit == FRAMES:
            return f"{self.value:.1f} frames/s"
        if self.unit == ITS_TIME:
            return f"{self.value:.3g} × its time"
        return f"{self.value:.3g} × faster"

    @property
    def spread(self) -> str:
        if self.unit == MESSAGES:
            return f"{self.low:,.0f} … {self.high:,.0f}"
        return f"{self.low:.3g} … {self.high:.3g}"

    def as_dict(self) -> dict[str, Any]:
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return known | {"verdict": self.verdict}

    @classmethod
    def from_dict(cls, known: dict[str, Any]) -> "Row":
        return cls(**{name: value for name, value in known.items() if name != "verdict"})

    def _reaches(self, aim: float) -> bool:
        return self.value >= aim if self.unit in (FASTER, MESSAGES, FRAMES) else self.value <= aim


def rows(samples: Samples) -> list[Row]:
    """Return a row for each comparison of which both sides were measured."""
    candidates = [
        _faster(samples, "gloo", from_bytes=MB, must=4, goal=8),
        _faster(samples, "gloo", from_bytes=MB, ours=OursNew.name, must=1, goal=3),
        _faster(samples, "gloo", from_bytes=MB, mood=BUSY, must=1, goal=3),
        *(_where_least(samples, engine) for engine in ("ours", OursChosen.name, OursNew.name)),
        _faster(samples, "MPICH", from_bytes=256 * KB, must=1, goal=2),
        _against_floor(samples),
        _smallest_against_mpich(samples),
        _latency(samples),
        _tracing(samples),
        _launch(samples),
        *_simulator(samples),
        *_training(samples),
        _scaling(samples),
        *_pipelines(samples),
        *_split(samples),
        _digits(samples),
        *_hogwild(samples),
        *_pictures(samples),
    ]
    return [row for row in candidates if row is not None]


def _row(what: str, peer: str, unit: str, found: Spread, **aims: float) -> Row:
    rounded = (float(f"{value:.3g}") for value in (found.median, found.low, found.high))
    return Row(what, peer, unit, *rounded, **aims)


def _faster(
    samples: Samples, peer: str, from_bytes: int, must: float, goal: float, ours: str = "ours",
    mood: str = "",
) -> Row | None:  # fmt: skip
    pairs = _pairs(samples, peer, ours, mood, from_bytes)
    if not pairs:
        return None
    sizes = sorted({_bytes_of(key, mood) for key, _ in pairs})
    span = " to ".join(size_name(n_bytes) for n_bytes in dict.fromkeys((sizes[0], sizes[-1])))
    groups = _listed(key.processes for key, _ in pairs)
    how = f"{_HOW[ours]}, two busy processes beside" if mood else _HOW[ours]
    what = f"all-reduce{how}, {span}, {groups} processes, geometric mean"
    return _row(what, peer, FASTER, samples.ratio(pairs), must=must, goal=goal)


def _where_least(samples: Samples, ours: str) -> Row | None:
    """Tell of the size at which we gain least on gloo."""
    pairs = _pairs(samples, "gloo", ours)
    if not pairs:
        return None
    least = min(pairs, key=lambda pair: samples.ratio([pair]).median)
    size = size_name(int(least[0].what))
    what = f"all-reduce{_HOW[ours]}, where we gain least: {size}, {least[0].processes} processes"
    return _row(what, "gloo", FASTER, samples.ratio([least]), must=1, goal=3)


_HOW = {"ours": "", OursNew.name: " into a new array", OursChosen.name: " that chooses"}


def _pairs(
    samples: Samples, peer: str, ours: str, mood: str = "", from_bytes: int = 0
) -> list[tuple[Key, Key]]:
    """Return the peer's sums and ours of the same sizes, for ``ratio``."""
    return [
        (key, other)
        for key in samples.rounds
        if key.engine == peer and _bytes_of(key, mood) >= from_bytes
        if (other := Key(key.what, key.processes, ours)) in samples.rounds
    ]


def _bytes_of(key: Key, mood: str) -> int:
    """Return the size of an all-reduce in this mood; -1 of what is none."""
    number = key.what.removesuffix(mood)
    return int(number) if number.isdigit() and number + mood == key.what else -1


def _against_floor(samples: Samples) -> Row | None:
    ours = Key(f"{64 * MB}", 2, "ours")
    if not {ours, FLOOR} <= set(samples.rounds):
        return None
    found = samples.ratio([(ours, FLOOR)])
    what, peer = "all-reduce, 64 MB, 2 processes", "copying 2 × 128 MB"
    return _row(what, peer, ITS_TIME, found, must=1, goal=0.5)


def _smallest_against_mpich(samples: Samples) -> Row | None:
    ours, peer = Key(f"{KB}", 2, OursChosen.name), Key(f"{KB}", 2, "MPICH")
    if not {ours, peer} <= set(samples.rounds):
        return None
    found = samples.ratio([(ours, peer)])
    return _row(
        "all-reduce that chooses, 1 KB, 2 processes", "MPICH", ITS_TIME, found, must=5, goal=2.5
    )


def _latency(samples: Samples) -> Row | None:
    ours, peer = Key(PING, 2, "ours"), Key(PING, 2, "MPICH")
    if not {ours, peer} <= set(samples.rounds):
        return None
    what = "8 bytes sent to and fro, 2 processes"
    return _row(what, "MPICH", ITS_TIME, samples.ratio([(ours, peer)]))


def _tracing(samples: Samples) -> Row | None:
    pairs = [
        (key, Key(key.what, key.processes, UNTRACED))
        for key in samples.rounds
        if key.engine == TRACED and key.what.endswith(PROCESSOR)
    ]
    if not pairs:
        return None
    what = "all-reduce that records its trace, processor time, geometric mean"
    return _row(what, "the same without trace", ITS_TIME, samples.ratio(pairs))


def _launch(samples: Samples) -> Row | None:
    ours, peer = launch_key(NOTEBOOK), launch_key(SPAWN)
    if not {ours, peer} <= set(samples.rounds):
        return None
    found, theirs = Spread.of(samples.rounds[ours]), Spread.of(samples.rounds[peer])
    what = "launch of 4 warm workers from a notebook"
    peer_s = float(f"{theirs.median:.3g}")
    return _row(what, SPAWN, SECONDS, found, must=0.1, goal=0.03, peer_s=peer_s)


def _simulator(samples: Samples) -> list[Row]:
    found = []
    for key, peaks in samples.peak_bytes.items():
        n = n_ring_messages(key.processes)
        speed = Spread.of(n / seconds for seconds in samples.rounds[key])
        memory = Spread.of(peak / 1e9 for peak in peaks)
        what = f"simulated ring of {key.processes:,} ranks, {n:,} messages, with trace"
        aims = {"must": 90_000, "goal": 250_000}, {"must": 1, "goal": 0.5}
        for_speed, for_memory = aims if key.processes == FULL.simulated_ranks else ({}, {})
        found.append(_row(what, "", MESSAGES, speed, **for_speed))
        found.append(_row(f"{what}: peak memory", "", MEMORY, memory, **for_memory))
    return found


def _training(samples: Samples) -> list[Row]:
    """Hold the fastest of our schemes against the faster way of torch's."""
    found = []
    for processes in sorted({key.processes for key in samples.rounds if key.engine == DDP}):
        ours = _fastest(samples, [step_key(processes, name) for name in SCHEMES])
        peer = _fastest(samples, [step_key(processes, name) for name in (DDP, DDP_IN_BUCKETS)])
        what = f"data-parallel {ours.what}, 64 examples a worker, {processes} processes"
        found.append(
            _row(what, peer.engine, FASTER, samples.ratio([(peer, ours)]), must=1.5, goal=1.8)
        )
    return found


def _pipelines(samples: Samples) -> list[Row]:
    found = []
    for processes in sorted({k.processes for k in samples.rounds if k.engine == TORCH_PIPELINED}):
        ours, peer = (pipeline_key(processes, name) for name in (OURS_PIPELINED, TORCH_PIPELINED))
        what = f"{ours.what}, {processes} processes"
        found.append(
            _row(what, peer.engine, FASTER, samples.ratio([(peer, ours)]), must=1, goal=1.5)
        )
    return found


def _split(samples: Samples) -> list[Row]:
    """Hold each way to divide a model against its peer, and against our own text over gloo."""
    found = []
    for processes in sorted({key.processes for key in samples.rounds}):
        for way in WAYS.values():
            ours = split_key(way, processes, way.ours)
            for engine in (way.peer, way.over_gloo):
                peer = split_key(way, processes, engine)
                if {ours, peer} <= set(samples.rounds):
                    ratio = samples.ratio([(peer, ours)])
                    what = f"{ours.what}, {processes} processes"
                    found.append(_row(what, peer.engine, FASTER, ratio, must=1, goal=1.5))
    return found


def _scaling(samples: Samples) -> Row | None:
    together, alone = step_key(2, OURS), step_key(2, ALONE)
    if not {together, alone} <= set(samples.rounds):
        return None
    what = f"data-parallel {together.what}, 2 processes"
    peer = "two processes that do not talk"
    return _row(what, peer, ITS_TIME, samples.ratio([(together, alone)]), must=1.11, goal=1.05)


def _digits(samples: Samples) -> Row | None:
    """Tell of the scheme that takes longest."""
    keys = [digits_key(scheme) for scheme in SYNCHRONOUS]
    if not set(keys) <= set(samples.rounds):
        return None
    slowest = max(keys, key=lambda key: Spread.of(samples.rounds[key]).median)
    what = f"digits to 95 %, {WORKERS} workers, slowest of {len(keys)} synchronous schemes"
    return _row(what, "", SECONDS, Spread.of(samples.rounds[slowest]), must=20, goal=10)


def _fastest(samples: Samples, keys: list[Key]) -> Key:
    measured = [key for key in keys if key in samples.rounds]
    return min(measured, key=lambda key: Spread.of(samples.rounds[key]).median)


def _listed(numbers: Iterable[int]) -> str:
    return " and ".join(str(number) for number in sorted(set(numbers)))


def _hogwild(samples: Samples) -> list[Row]:
    """Hold two workers without a lock against scikit-learn, and against one worker."""
    aims = {SKLEARN: {"must": 1.4, "goal": 1.9}, ONE_WORKER: {"must": 1.7, "goal": 1.9}}
    return [
        _row(f"{HOGWILD}: {ours.what}", engine, FASTER, samples.ratio([(peer, ours)]), **of_engine)
        for ours in list(samples.rounds)
        if ours.engine == HOGWILD
        for engine, of_engine in aims.items()
        if (peer := Key(ours.what, ours.processes, engine)) in samples.rounds
    ]


def _pictures(samples: Samples) -> list[Row]:
    """Tell of the picture that moves least smoothly, and of how soon one follows a slider."""
    found, frames = [], [key for key in samples.rounds if key.what == FRAME]
    if frames:
        per_s = {key: Spread.of(1 / frame_s for frame_s in samples.rounds[key]) for key in frames}
        least = min(frames, key=lambda key: per_s[key].median)
        what = f"moving pictures, the least smooth of {len(frames)}: {least.engine}"
        found.append(_row(what, "", FRAMES, per_s[least], must=55, goal=59))
    if FROM_SLIDER in samples.rounds:
        what = f"{FROM_SLIDER.what}, {FROM_SLIDER.processes} simulated ranks, JupyterLab"
        found.append(
            _row(what, "", SECONDS, Spread.of(samples.rounds[FROM_SLIDER]), must=0.15, goal=0.08)
        )
    return found
