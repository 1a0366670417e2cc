"""How a trace shows itself in a notebook."""

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["mimebundle"]


def mimebundle(trace: "Trace") -> dict[str, Any]:
    """Show a trace as its summary and its timeline.

    Parameters
    ----------
    trace : Trace
        What happened.

    Returns
    -------
    dict
        ``text/plain``: one line and the table by rank. ``image/png``: the timeline, in base64.
    """
    from course_lib.viz.stills.stills import timeline_still
    from course_lib.viz.tables import table

    picture = base64.b64encode(timeline_still(trace).to_png()).decode("ascii")
    return {"text/plain": f"{trace!r}\n{table(trace)}", "image/png": picture}
