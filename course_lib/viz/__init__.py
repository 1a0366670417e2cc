"""A trace or a curve becomes a picture, a widget or a page.

Everything here is loaded when it is first used: importing this package loads neither matplotlib nor
a Jupyter library.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.viz.bar_charts import bars
    from course_lib.viz.curves import loss_curve
    from course_lib.viz.gantt import draw_gantt
    from course_lib.viz.listing import source
    from course_lib.viz.maps import contours
    from course_lib.viz.message_player import Player, player
    from course_lib.viz.pages import export_page, to_html
    from course_lib.viz.show import mimebundle
    from course_lib.viz.stills import curve, filmstrip, timeline
    from course_lib.viz.tables import table, table_html
    from course_lib.viz.times import draw_times
    from course_lib.viz.wait_graph import draw_wait_graph

__all__ = [
    "Player",
    "bars",
    "contours",
    "curve",
    "draw_gantt",
    "draw_times",
    "draw_wait_graph",
    "export_page",
    "filmstrip",
    "loss_curve",
    "mimebundle",
    "player",
    "source",
    "table",
    "table_html",
    "timeline",
    "to_html",
]

_HOME = {
    "Player": "message_player",
    "bars": "bar_charts",
    "contours": "maps",
    "curve": "stills",
    "draw_gantt": "gantt",
    "draw_times": "times",
    "draw_wait_graph": "wait_graph",
    "export_page": "pages",
    "filmstrip": "stills",
    "loss_curve": "curves",
    "mimebundle": "show",
    "player": "message_player",
    "source": "listing",
    "table": "tables",
    "table_html": "tables",
    "timeline": "stills",
    "to_html": "pages",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'course_lib.viz' has no attribute {name!r}")
    return getattr(importlib.import_module(f"course_lib.viz.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
