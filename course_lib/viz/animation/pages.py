"""A player as a piece of HTML, or as a page: it plays with no kernel and no network."""

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.viz.animation.script import read_css, read_esm

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace
    from course_lib.viz.animation.message_player import Player

__all__ = ["export_page", "to_html"]

_TRAITS = ("scene", "curves", "title", "time_s", "even_steps", "large", "critical_path")

_FRAGMENT = """\
<div class="lm-slot"><script type="application/json">{traits}</script></div>
<style>
{css}</style>
<script type="module">
{{
{esm}
// The first slot that no script has taken yet is this script's: modules run in the page's order.
const slot = document.querySelector(".lm-slot:not([data-taken])");
slot.dataset.taken = "yes";
const traits = JSON.parse(slot.firstElementChild.textContent);
const model = {{
  get: (name) => traits[name],
  set: (name, value) => {{ traits[name] = value; }},
  on() {{}},
  off() {{}},
  save_changes() {{}},
}};
widget.render({{ model, el: slot }});
}}
</script>
"""

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 16px auto; max-width: 1100px; padding: 0 12px; background: {ground}; }}
</style>
</head>
<body data-jp-theme-light="{light}">
{fragment}</body>
</html>
"""


def to_html(player: "Player") -> str:
    """Write a player as a piece of HTML that needs nothing else.

    Parameters
    ----------
    player : Player
        What ``player(trace)`` made.

    Returns
    -------
    str
        A ``<div>`` with its style, its data and its script; may stand in a page more than once.
    """
    traits = {name: getattr(player, name) for name in _TRAITS}
    # In a script element only "<" could end it or open a comment, so no "<" is left in the data.
    data = json.dumps(traits, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return _FRAGMENT.format(
        css=read_css(),
        traits=data,
        esm=read_esm().replace("export default", "const widget ="),
    )


def export_page(
    trace: "Trace",
    path: str | Path,
    *,
    dark: bool = False,
    **options: Any,
) -> Path:
    """Save a player as a page that plays in any browser, offline.

    Parameters
    ----------
    trace : Trace
        What happened.
    path : str or pathlib.Path
        The file to write; its name usually ends in ``.html``.
    dark : bool, default: False
        Whether the page is dark.
    **options
        ``layout``, ``curves``, ``title`` and the other parameters of ``player``.

    Returns
    -------
    pathlib.Path
        The file.
    """
    from course_lib.viz.animation.message_player import player

    widget = player(trace, **options)
    page = _PAGE.format(
        title=html.escape(widget.title or repr(widget)),
        ground="#14171a" if dark else "#fff",
        light="false" if dark else "true",
        fragment=to_html(widget),
    )
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    return path
