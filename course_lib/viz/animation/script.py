"""The scripts and styles of the pictures, as widgets and saved pages carry them."""

from pathlib import Path

__all__ = ["FIRST", "LAST", "PARTS", "read_css", "read_esm"]

_HERE = Path(__file__).parent / "js"
FIRST, LAST = ("draw", "transport"), ("entry",)
PARTS = {
    "player": ("scene", "stage", "strips", "curves", "timeline", "player"),
    "timeline": ("scene", "curves", "timeline", "timelines"),
    "chart": ("scales", "curves", "chart"),
    "race": ("scales", "curves", "race"),
    "landscape": ("scales", "landscape"),
    "explore": ("explore",),
}


def read_esm(*kinds: str) -> str:
    """Read the script of some kinds of pictures: plain files that are one ES module.

    Parameters
    ----------
    *kinds : {"player", "timeline", "chart", "race", "landscape", "explore"}
        The kinds that it draws; a file that several need is in it once.

    Returns
    -------
    str
        The module; it exports ``{ render }``, as anywidget wants it.
    """
    parts = dict.fromkeys([*FIRST, *(part for kind in kinds for part in PARTS[kind]), *LAST])
    renders = ", ".join(f"{kind}: render{kind.title()}" for kind in kinds)
    texts = [(_HERE / f"{part}.js").read_text(encoding="utf-8") for part in parts]
    return "\n".join([f"const KINDS = {{ {renders} }};\n", *texts])


def read_css(*kinds: str) -> str:
    """Read the style of the same kinds."""
    parts = dict.fromkeys(["draw", *(part for kind in kinds for part in PARTS[kind])])
    files = [_HERE / f"{part}.css" for part in parts]
    return "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
