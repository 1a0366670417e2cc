"""A picture as a piece of HTML, or as a page: it moves with no kernel and no network."""

import base64
import html
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace
    from course_lib.viz.animation.picture import Picture

__all__ = ["export_page", "pack", "page_of", "to_html"]

_LONG = 50_000
"""Characters of data above which a page packs them."""

_FRAGMENT = """\
<div class="lm-slot"><script type="application/json"{packed}>{traits}</script></div>
<style>
{css}</style>
<script type="module">
{{
{esm}
// The first slot that no script has taken yet is this script's: modules run in the page's order.
const slot = document.querySelector(".lm-slot:not([data-taken])");
slot.dataset.taken = "yes";
const data = slot.firstElementChild;
const traits = data.dataset.packed ? await unpacked() : JSON.parse(data.textContent);
function unpacked() {{
  const bytes = Uint8Array.from(atob(data.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}}
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
    data = json.dumps(
        picture.traits_shown(), ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    is_long = len(data) > _LONG
    # In a script element only "<" could end it or open a comment, so no "<" is left in the data.
    return _FRAGMENT.format(
        css=picture._css,
        packed=' data-packed="yes"' if is_long else "",
        traits=pack(data) if is_long else data.replace("<", "\\u003c"),
        esm=str(picture._esm).replace("export default", "const widget ="),
    )


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
