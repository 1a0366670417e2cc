"""A trace or a curve becomes a picture, a widget or a page.

Everything here is loaded when it is first used: importing this package loads neither matplotlib nor
a Jupyter library.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.viz.animation.chart import Chart, chart
    from course_lib.viz.animation.explore import Explore, explore
    from course_lib.viz.animation.gantt import gantt
    from course_lib.viz.animation.knobs import knob
    from course_lib.viz.animation.landscape import Landscape, landscape
    from course_lib.viz.animation.message_player import Player, player
    from course_lib.viz.animation.moving_timeline import Timeline, timeline
    from course_lib.viz.animation.pages import export_page, to_html
    from course_lib.viz.animation.race import Race, race
    from course_lib.viz.charts.bar_charts import bars
    from course_lib.viz.charts.curves import loss_curve
    from course_lib.viz.charts.maps import contours
    from course_lib.viz.charts.placed_graph import draw_placed_graph
    from course_lib.viz.charts.times import draw_times
    from course_lib.viz.charts.wait_graph import draw_wait_graph
    from course_lib.viz.claims import claim
    from course_lib.viz.listing import source
    from course_lib.viz.prediction import predict
    from course_lib.viz.show import mimebundle
    from course_lib.viz.stills.stills import curve, filmstrip
    from course_lib.viz.tables import Table, table

__all__ = [
    "Chart",
    "Explore",
    "Landscape",
    "Player",
    "Race",
    "Table",
    "Timeline",
    "bars",
    "chart",
    "claim",
    "contours",
    "curve",
    "draw_placed_graph",
    "draw_times",
    "draw_wait_graph",
    "explore",
    "export_page",
    "filmstrip",
    "gantt",
    "knob",
    "landscape",
    "loss_curve",
    "mimebundle",
    "player",
    "predict",
    "race",
    "source",
    "table",
    "timeline",
    "to_html",
]

_HOME = {
    "Chart": "animation.chart",
    "Explore": "animation.explore",
    "Player": "animation.message_player",
    "Landscape": "animation.landscape",
    "Race": "animation.race",
    "Table": "tables",
    "Timeline": "animation.moving_timeline",
    "bars": "charts.bar_charts",
    "chart": "animation.chart",
    "claim": "claims",
    "contours": "charts.maps",
    "curve": "stills.stills",
    "gantt": "animation.gantt",
    "draw_placed_graph": "charts.placed_graph",
    "draw_times": "charts.times",
    "draw_wait_graph": "charts.wait_graph",
    "explore": "animation.explore",
    "export_page": "animation.pages",
    "filmstrip": "stills.stills",
    "knob": "animation.knobs",
    "landscape": "animation.landscape",
    "loss_curve": "charts.curves",
    "mimebundle": "show",
    "player": "animation.message_player",
    "predict": "prediction",
    "race": "animation.race",
    "source": "listing",
    "table": "tables",
    "timeline": "animation.moving_timeline",
    "to_html": "animation.pages",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'course_lib.viz' has no attribute {name!r}")
    return getattr(importlib.import_module(f"course_lib.viz.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
