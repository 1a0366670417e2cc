"""A picture as a piece of HTML, or as a page: it moves with no kernel and no network."""

import base64
import html
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.viz.animation.script import PARTS, read_esm

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace
    from course_lib.viz.animation.picture import Picture

__all__ = ["export_page", "pack", "page_of", "script_of_slots", "slot_of", "to_html"]

_LONG = 50_000
"""Characters of data above which a page packs them."""

_SLOT = """\
<div class="lm-slot"><script type="application/json"{packed}>{traits}</script></div>
"""

_FRAGMENT = """\
{slot}<style>
{css}</style>
<script type="module">
{{
{esm}
// The first slot that no script has taken yet is this script's: modules run in the page's order.
const slot = document.querySelector(".lm-slot:not([data-taken])");
slot.dataset.taken = "yes";
{draw_slot}
await drawSlot(slot);
}}
</script>
"""

_DRAW_SLOT = """\
async function drawSlot(slot) {
  const data = slot.firstElementChild;
  const text = data.textContent;
  const traits = data.dataset.packed ? await unpacked(text) : JSON.parse(text);
  const model = {
    get: (name) => traits[name],
    set: (name, value) => { traits[name] = value; },
    on() {},
    off() {},
    save_changes() {},
  };
  return widget.render({ model, el: slot });
}
function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}"""

_SCRIPT = """\
(() => {{
{esm}
{draw_slot}
window.coursePictures = {{ drawSlot }};
}})();
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


def pack(text: str) -> str:
    """Compress a text, as a page keeps long ones.

    Parameters
    ----------
    text : str
        What is kept.

    Returns
    -------
    str
        Base64 of its deflated UTF-8.
    """
    return base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode(
        "ascii"
    )


def slot_of(picture: "Picture") -> str:
    """Write what a picture shows as a piece of HTML, for a page that has ``script_of_slots``.

    Parameters
    ----------
    picture : Picture
        What ``player(trace)``, for example, made.

    Returns
    -------
    str
        A ``<div>`` with its data; the page's script draws in it.
    """
    data = json.dumps(
        picture.traits_shown(), ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    is_long = len(data) > _LONG
    # In a script element only "<" could end it or open a comment, so no "<" is left in the data.
    return _SLOT.format(
        packed=' data-packed="yes"' if is_long else "",
        traits=pack(data) if is_long else data.replace("<", "\\u003c"),
    )


def script_of_slots() -> str:
    """Write the one script of a page with many pictures of all kinds.

    Returns
    -------
    str
        Plain JavaScript, no module: ``coursePictures.drawSlot(div)`` draws what ``slot_of`` wrote.
    """
    return _SCRIPT.format(esm=_as_statement(read_esm(*PARTS)), draw_slot=_DRAW_SLOT)


def to_html(picture: "Picture") -> str:
    """Write a picture as a piece of HTML that needs nothing else.

    Parameters
    ----------
    picture : Picture
        What ``player(trace)``, for example, made.

    Returns
    -------
    str
        A ``<div>`` with its style, its data and its script; may stand in a page more than once.
    """
    return _FRAGMENT.format(
        slot=slot_of(picture),
        css=picture._css,
        esm=_as_statement(str(picture._esm)),
        draw_slot=_DRAW_SLOT,
    )


def _as_statement(esm: str) -> str:
    return esm.replace("export default", "const widget =")


def page_of(picture: "Picture", dark: bool) -> str:
    """Write a picture as a whole page."""
    return _PAGE.format(
        title=html.escape(picture.title or repr(picture)),
        ground="#14171a" if dark else "#fff",
        light="false" if dark else "true",
        fragment=to_html(picture),
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

    return player(trace, **options).save(path, dark=dark)
