"""A convolution split by the rows of the image: every rank has some rows, and sees a halo.

What rank 1 of 3 computes with, for a kernel of 3 x 3, whose halo is one row on each side:

```
  rank 0   . . . . . .
           h h h h h h   rank 0's last row, sent down: rank 1's halo above
  rank 1   x x x x x x   own; sent up, it is rank 0's halo below
           x x x x x x   own; sent down, it is rank 2's halo above
  rank 2   h h h h h h   rank 2's first row, sent up: rank 1's halo below
           . . . . . .
```
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import ThreeFlops
from course_lib.split.cut import Cut, checked_cut
from course_lib.split.split_layer import Whole

if TYPE_CHECKING:
    from course_lib.models.convolution import Convolution

__all__ = ["ImageRows"]

Array = NDArray[Any]


class ImageRows:
    """Every rank has some rows of every image, and all weights.

    To compute its rows it needs those just above and below, which its neighbours have: the halo.
    Forward they are sent both ways. Backward, what a rank finds for its halo goes back to whom the
    rows belong, and is added there. All use all weights, so their slope is summed over the ranks.

    Parameters
    ----------
    comm : Communicator
        The group of ranks, from the top of the image to its bottom.
    layer : Convolution
        The whole layer.
    cut : sequence of slice or None, default: None
        The rows of each rank; None cuts evenly.
    allreduce : callable, default: allreduce_ring
        Any all-reduce of ``course_lib.collectives``, for the slope of the weights.

    Raises
    ------
    ValueError
        If a rank would have no row, or fewer than its neighbours need of it.

    Notes
    -----
    Cost: forward m x channels x halo x columns numbers to each neighbour, as many back, for a halo
    of (kernel - 1)/2 rows: 4 messages for a rank with two neighbours. Beside it an all-reduce of
    the gradient of the weights: they are few.

    Invariant: a rank never sees more of the image than its rows and two halos.
    """

    def __init__(
        self, comm: Communicator, layer: "Convolution", cut: Cut | None = None,
        allreduce: Callable[..., Array] = allreduce_ring,
    ) -> None:  # fmt: skip
        n_rows = layer.image[0]
        self.cut = checked_cut(cut, n_rows, comm.size, f"rows of {layer.name}'s image")
        self.halo = layer.halo
        heights = [part.stop - part.start for part in self.cut]
        if comm.size > 1 and min(heights) < self.halo:
            raise ValueError(
                f"cut must leave every rank the {self.halo} rows that its neighbours need of "
                f"{layer.name}'s image, got parts of {heights} rows; use fewer ranks"
            )
        self.own = self.cut[comm.rank]
        self._comm, self._layer, self._allreduce = comm, layer, allreduce
        self._mine = Whole(comm, layer.of_rows(heights[comm.rank]))
        self.name, self.n_parameters = layer.name, layer.n_parameters

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Compute the own rows, (m, n_out, own, columns), from (m, n_in, own, columns)."""
        halo = self.halo
        if halo == 0:
            return self._mine.forward(w, x)
        m, channels, rows, columns = x.shape
        wide = np.zeros((m, channels, rows + 2 * halo, columns), x.dtype)  # 0 outside of the image
        wide[:, :, halo:-halo] = x
        above, below = self._swap(x[:, :, :halo], x[:, :, -halo:])
        if above is not None:
            wide[:, :, :halo] = above
        if below is not None:
            wide[:, :, -halo:] = below
        return self._mine.forward(w, wide)

    def input_gradient(self, w: Array, saved: Any, dy: Array) -> Array:
        """Send the slope of the halo back to whom it belongs, and add what comes for own rows."""
        wide, halo = self._mine.input_gradient(w, saved, dy), self.halo
        if halo == 0:
            return wide
        above, below = self._swap(wide[:, :, :halo], wide[:, :, -halo:])
        dx = wide[:, :, halo:-halo].copy()
        if above is not None:
            dx[:, :, :halo] += above
        if below is not None:
            dx[:, :, -halo:] += below
        return dx

    def weight_gradient(self, saved: Any, dy: Array) -> Array:
        """Add up over the ranks what their rows say of the weights."""
        partial = self._mine.weight_gradient(saved, dy)
        return np.asarray(self._allreduce(self._comm, partial, out=partial))

    def _swap(self, up: Array, down: Array) -> tuple[Array | None, Array | None]:
        """Give one array to the rank above, one to the rank below; return what they give."""
        above, below = self._comm.rank - 1, self._comm.rank + 1
        from_below = self._pass(up, dst=above, src=below)  # everybody upwards first, then down
        from_above = self._pass(down, dst=below, src=above)
        return from_above, from_below

    def _pass(self, array: Array, dst: int, src: int) -> Array | None:
        array, ranks = np.ascontiguousarray(array), range(self._comm.size)
        if dst in ranks and src in ranks:
            return np.asarray(self._comm.sendrecv(array, dst=dst, src=src, tag="halo"))
        if dst in ranks:  # nobody is on the other side
            self._comm.send(array, dst, tag="halo")
        return np.asarray(self._comm.recv(src, tag="halo")) if src in ranks else None

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of this rank's rows after it."""
        channels, rows, columns = input_shape
        return self._mine.output_shape((channels, rows + 2 * self.halo, columns))

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw all parameters: every rank has all."""
        return self._layer.initial(rng)

    def share(self, w: Array) -> Array:
        """Copy all parameters."""
        return w.copy()

    def join(self, parts: Sequence[Array]) -> Array:
        """Take those of the first rank: all have the same."""
        return parts[0]

    def once(self, w: Array) -> Array:
        """Leave it to the first rank to count them."""
        return self._mine.once(w)

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count this rank's operations for so many examples."""
        return self._mine.flops(n_examples)
