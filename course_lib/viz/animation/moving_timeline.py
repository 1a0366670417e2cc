"""Timelines that move: what every rank did when, of one run or of several on one axis."""

from collections.abc import Mapping
from typing import Any

import traitlets

from course_lib.trace.trace import Trace
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.picture import Picture
from course_lib.viz.animation.script import read_css, read_esm

__all__ = ["Timeline", "check_trace", "timeline"]

_MOST = 4
_MOST_EVENTS = 5000
_ORDER = ("first", "second", "third", "fourth")


class Timeline(Picture):
    """What every rank did when; make one with ``timeline(trace)``.

    Parameters
    ----------
    traces : dict of str to Trace
        The runs by name; the name of a single one may be empty.
    roles : dict of int to str or None, default: None
        What lanes are called.
    **traits
        The attributes.

    Attributes
    ----------
    scenes : list of dict
        What is drawn, see ``course_lib.viz.animation.scene``.
    names : list of str
        What each run is called.
    even_steps, large, critical_path : bool
        How the switches stand at first.
    """

    _esm = read_esm("timeline")
    _css = read_css("timeline")
    shown = ("scenes", "names", "even_steps", "large", "critical_path")
    kind = traitlets.Unicode("timeline").tag(sync=True)
    scenes: Any = traitlets.List().tag(sync=True)
    names: Any = traitlets.List().tag(sync=True)
    even_steps = traitlets.Bool(False).tag(sync=True)
    large = traitlets.Bool(False).tag(sync=True)
    critical_path = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, traces: Mapping[str, Trace], roles: dict[int, str] | None = None, **traits: Any
    ) -> None:
        most = _MOST_EVENTS // len(traces)
        scenes = [
            make_scene(trace, "line", roles=roles, max_events=most) for trace in traces.values()
        ]
        super().__init__(scenes=[scene.to_json() for scene in scenes], names=list(traces), **traits)
        self._traces, self._roles = dict(traces), roles

    def __repr__(self) -> str:
        """Summarise in one line that is the same for every run of a deterministic algorithm."""
        runs = [
            f"{name}: {trace!r}" if name else repr(trace) for name, trace in self._traces.items()
        ]
        return f"<timeline of {'; '.join(runs)}>"

    def still(self) -> bytes:
        """Draw the timelines with matplotlib, as PNG."""
        from course_lib.viz.stills.stills import timeline_still

        figure = timeline_still(
            self._traces, title=self.title or None, critical_path=self.critical_path,
            roles=self._roles,
        )  # fmt: skip
        return figure.to_png()


def timeline(
    *traces: Trace | Mapping[str, Trace],
    title: str | None = None,
    roles: dict[int, str] | None = None,
    critical_path: bool = False,
    even_steps: bool = False,
    large: bool = False,
) -> Timeline:
    """Show what every rank did when: a lane a rank, a line a message, a playhead that moves.

    Compute spans are solid with their label, waiting is hatched, sending and receiving are ticks
    joined by a line of the colour of the message's label. Several runs stand above each other on
    one axis and share the playhead. Keys as in ``player``.

    Parameters
    ----------
    *traces : Trace, or one dict of str to Trace
        What happened: one run, up to four, or up to four with names.
    title : str or None, default: None
        What stands above it.
    roles : dict of int to str or None, default: None
        What lanes are called instead of "rank 0", by rank: ``{0: "server"}``; ten letters or so.
    critical_path : bool, default: False
        Begin with the chain of messages marked that the run had to wait for. A switch changes it.
    even_steps : bool, default: False
        Begin with every step as long as the next, instead of by the clock; for one run only. A
        switch changes it.
    large : bool, default: False
        Begin with larger type, for a lecture room. A switch changes it.

    Returns
    -------
    Timeline
        A widget; where none can be shown, its still picture and its text.

    Raises
    ------
    TypeError, ValueError
        If there is no trace, there are more than four, or one is none; if a rank in ``roles`` is
        not in all of them.

    Notes
    -----
    Of more than 5,000 events a part is drawn, and the picture says so; shares and totals are those
    of the whole.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def greet(comm):
    ...     return comm.sendrecv(np.ones(1), 1 - comm.rank, 1 - comm.rank)
    >>> trace = run(greet, workers=2, backend="simulated").trace
    >>> timeline({"once": trace, "again": trace}).names
    ['once', 'again']
    """
    named = _by_name(traces)
    if even_steps and len(named) > 1:
        raise ValueError("even_steps is for one run: several share an axis that is to scale")
    return Timeline(
        named, roles, title=title or "", critical_path=critical_path, even_steps=even_steps,
        large=large,
    )  # fmt: skip


def _by_name(traces: tuple[Trace | Mapping[str, Trace], ...]) -> dict[str, Trace]:
    """Return the runs by name, or say what is wrong with them."""
    if len(traces) == 1 and isinstance(traces[0], Mapping):
        named = {str(name): trace for name, trace in traces[0].items()}
    elif len(traces) == 1:
        named = {"": traces[0]}  # type: ignore[dict-item]
    else:
        named = dict(zip(_ORDER, traces, strict=False))  # type: ignore[arg-type]
    if not 1 <= len(traces) <= _MOST or not 1 <= len(named) <= _MOST:
        n = len(traces) if len(traces) != 1 else len(named)
        raise ValueError(f"traces must be 1 to {_MOST} traces, or a dict of as many, got {n}")
    for name, trace in named.items():
        check_trace(f"trace {name!r}" if name else "trace", trace)
    return named


def check_trace(what: str, trace: object) -> None:
    """Refuse what is no trace.

    Parameters
    ----------
    what : str
        The argument's name, for the error.
    trace : object
        What was given.

    Raises
    ------
    TypeError
        Naming the argument and what it was.
    """
    if not isinstance(trace, Trace):
        raise TypeError(f"{what} must be a Trace, got {type(trace).__name__}")
