"""All notebooks that the scripts give, made once: that takes half a second, and many tests ask."""

from authoring.build import ROOT, targets

__all__ = ["LECTURES", "TARGETS"]

TARGETS = list(targets(ROOT))
LECTURES = [target for target in TARGETS if target.path.parent.name == "notebooks"]
