"""The player's script and style, as the widget and exported pages carry them."""

from pathlib import Path

__all__ = ["read_css", "read_esm"]

_HERE = Path(__file__).parent / "js"
_PARTS = ("scene.js", "stage.js", "strips.js", "timeline.js", "player.js")


def read_esm() -> str:
    """Read the script: five plain files that are one ES module."""
    return "\n".join((_HERE / part).read_text(encoding="utf-8") for part in _PARTS)


def read_css() -> str:
    """Read the style."""
    return (_HERE / "player.css").read_text(encoding="utf-8")
