"""What all moving pictures have in common: a script, a still picture, and a page of their own."""

import base64
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from course_lib.words.plain_file import overwrite

__all__ = ["Picture"]


class Picture(anywidget.AnyWidget):
    """A picture that is drawn in the browser, from what Python hands it.

    A kind of picture is a subclass: it names its traits in ``shown``, its script in ``_esm``, and
    says how it looks where no script runs (``still``, ``__repr__``). ``save`` writes it as a page.

    Attributes
    ----------
    kind : str
        Who draws it: the script has a function of this name.
    title : str
        What stands above it.
    time_s : float
        Where the playhead rests, in seconds; may be set.
    """

    shown: ClassVar[tuple[str, ...]] = ()
    kind = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    time_s = traitlets.Float(0.0).tag(sync=True)
    _png: bytes | None = None

    @abstractmethod
    def still(self) -> bytes:
        """Draw the still picture, as PNG."""

    @abstractmethod
    def __repr__(self) -> str:
        """Summarise in one line that is the same for every run of a deterministic algorithm."""

    def traits_shown(self) -> dict[str, Any]:
        """Return by name what the browser is handed, as a page keeps it."""
        names = ("kind", "title", "time_s", *self.shown)
        return {name: getattr(self, name) for name in names}

    def save(self, path: str | Path, *, dark: bool = False) -> Path:
        """Save the picture as a page that moves in any browser, offline.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to write; its name usually ends in ``.html``. One that is there is replaced
            when all is written.
        dark : bool, default: False
            Whether the page is dark.

        Returns
        -------
        pathlib.Path
            The file.
        """
        from course_lib.viz.animation.pages import page_of

        path = Path(path)
        overwrite(path, page_of(self, dark).encode("utf-8", "backslashreplace"))
        return path

    def open(self) -> None:
        """Do nothing yet: the browser hears of a picture when it is shown, not when it is made.

        ``explore`` makes one for every setting; each would send its whole script.
        """

    @property
    def model_id(self) -> str:
        """By which name the browser knows the picture; whoever asks is about to show it."""
        if self.comm is None:
            super().open()
        return str(super().model_id)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Add the still picture, for wherever no widget can be shown."""
        bundle: Any = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if self._png is None:
            self._png = self.still()
        png = base64.b64encode(self._png).decode("ascii")
        return {**data, "text/plain": repr(self), "image/png": png}, metadata
