"""A transformer block split by heads, and by hidden units: two all-reduces forward and two back."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import ThreeFlops
from course_lib.split.cut import checked_cut
from course_lib.split.split_layer import Whole

if TYPE_CHECKING:
    from course_lib.models.torch_layer import TorchLayer

__all__ = ["HalfBlock", "split_block"]

Array = NDArray[Any]


class HalfBlock:
    """Half of a block: ``y = x + inner(norm(x)) + b``, of whose inside every rank has some units.

    Into the units leads a layer split by columns, out of them one split by rows. So the sum of what
    all ranks make is what goes out, and the bias is added once, after it. The norm stands before
    the split and is the same on every rank. Going back, the slope at the norm is a sum again.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    norm : TorchLayer
        What stands before it: a scale and a shift for each number of a token.
    inner : TorchLayer
        All of the inside, of which sizes and first parameters are taken.
    mine : TorchLayer
        This rank's part of it.
    own : slice
        Which of the numbers inside it is.
    allreduce : callable, default: allreduce_ring
        Any all-reduce of ``course_lib.collectives``.

    Notes
    -----
    Cost: forward an all-reduce of m x tokens x d_model numbers, backward another. Weights: 0 bytes.

    Invariant: norm, bias, inputs and outputs are the same on every rank, bit for bit.

    References
    ----------
    M. Shoeybi, M. Patwary, R. Puri et al., "Megatron-LM: Training multi-billion parameter language
    models using model parallelism", arXiv:1909.08053, 2019, section 3 and figure 3.
    """

    def __init__(
        self, comm: Communicator, norm: "TorchLayer", inner: "TorchLayer", mine: "TorchLayer",
        own: slice, allreduce: Callable[..., Array] = allreduce_ring,
    ) -> None:  # fmt: skip
        self._comm, self._inner, self.own, self._allreduce = comm, inner, own, allreduce
        self._norm, self._mine = Whole(comm, norm), Whole(comm, mine)
        self.name, self._d_model = inner.name, norm.n_parameters // 2
        self.n_parameters = norm.n_parameters + mine.n_parameters + self._d_model

    def _unpack(self, w: Array) -> list[Array]:
        """View a flat vector as those of the norm, of the inside, and the bias."""
        return np.split(w, [2 * self._d_model, len(w) - self._d_model])

    def forward(self, w: Array, x: Array) -> tuple[Array, Any]:
        """Compute (m, tokens, d_model) from as many."""
        of_norm, inside, bias = self._unpack(w)
        normed, before = self._norm.forward(of_norm, x)
        y_partial, within = self._mine.forward(inside, normed)
        y = self._allreduce(self._comm, y_partial)  # its own: y_partial is the graph's
        y += bias  # once, after the sum
        y += x
        return y, _Saved(of_norm, inside, before, within)

    def input_gradient(self, w: Array, saved: "_Saved", dy: Array) -> Array:
        """Return the slope in what came in: past the inside, and through it."""
        del w
        return dy + self._norm.input_gradient(saved.of_norm, saved.before, self._at_norm(saved, dy))

    def weight_gradient(self, saved: "_Saved", dy: Array) -> Array:
        """Return the slope in norm, own inside and bias."""
        of_norm = self._norm.weight_gradient(saved.before, self._at_norm(saved, dy))
        inside = self._mine.weight_gradient(saved.within, dy)
        return np.concatenate([of_norm, inside, dy.sum(axis=(0, 1))])

    def _at_norm(self, saved: "_Saved", dy: Array) -> Array:
        """Add up over the ranks what their insides say of what the norm gave; once, for both."""
        if saved.slope is None:
            partial = self._mine.input_gradient(saved.inside, saved.within, dy)
            saved.slope = np.asarray(self._allreduce(self._comm, partial, out=partial))
        return saved.slope

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of an example, which stays as it is; refuse another width."""
        return self._mine.output_shape(input_shape)

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw the whole inside, and keep the own part; the norm begins with 1 and 0."""
        ones, zeros = np.ones(self._d_model), np.zeros(self._d_model)
        return self.share(np.concatenate([ones, zeros, self._inner.initial(rng), zeros]))

    def share(self, w: Array) -> Array:
        """Copy norm and bias, and of the inside what leads into the own units and out of them."""
        of_norm, inside, bias = self._unpack(w)
        own = [tensor[_at(name, self.own)].ravel() for name, tensor in self._named(inside)]
        return np.concatenate([of_norm, *own, bias])

    def join(self, parts: Sequence[Array]) -> Array:
        """Put the inside together from all ranks; of norm and bias take those of the first."""
        unpacked = [self._unpack(w) for w in parts]
        insides = [dict(self._named(inside)) for _, inside, _ in unpacked]
        whole = [
            np.concatenate([inside[name] for inside in insides], _dim(name)).ravel()
            for name in insides[0]
        ]
        return np.concatenate([unpacked[0][0], *whole, unpacked[0][2]])

    def once(self, w: Array) -> Array:
        """Count the own inside; norm and bias, which all have, are the first rank's to count."""
        return w if self._comm.rank == 0 else self._unpack(w)[1]

    def _named(self, inside: Array) -> list[tuple[str, Array]]:
        """View the inside of one rank, or of all, as tensors by name."""
        units = self._n_units(len(inside))
        found, start = [], 0
        for name, shape in self._inner.shapes.items():
            sizes = list(shape)
            sizes[_dim(name)] = units
            stop = start + int(np.prod(sizes))
            found.append((name, inside[start:stop].reshape(sizes)))
            start = stop
        return found

    def _n_units(self, n_parameters: int) -> int:
        n_units = next(iter(self._inner.shapes.values()))[0]
        return n_parameters * n_units // self._inner.n_parameters  # so many for each unit

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count this rank's operations for so many examples."""
        norm, mine = self._norm.flops(n_examples), self._mine.flops(n_examples)
        return ThreeFlops(*(a + b for a, b in zip(norm, mine, strict=True)))


class _Saved:
    """What going back needs of one forward pass."""

    def __init__(self, of_norm: Array, inside: Array, before: Any, within: Any) -> None:
        self.of_norm, self.inside, self.before, self.within = of_norm, inside, before, within
        self.slope: Array | None = None


def split_block(
    comm: Communicator, d_model: int, n_heads: int, n_hidden: int, n_tokens: int
) -> list[HalfBlock]:
    """Split a transformer block: attention by its heads, the perceptron by its hidden units.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    d_model : int
        Numbers a token; the heads share them.
    n_heads : int
        How many heads; a multiple of the number of ranks, since a head is never cut.
    n_hidden : int
        Hidden units of the perceptron, one for each rank at least.
    n_tokens : int
        Tokens an example.

    Returns
    -------
    list of HalfBlock
        Two layers of a chain, whose examples have the shape (n_tokens, d_model).

    Raises
    ------
    ValueError
        If heads do not divide, ``d_model`` among the heads or the heads among the ranks, or there
        are fewer hidden units than ranks.

    Notes
    -----
    Cost: four all-reduces of m x tokens x d_model numbers; on rings 8(P-1)/P of them sent by each
    rank. Weights: 0 bytes.
    """
    from course_lib.models.transformer import attention, norm, two_layers

    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model, {d_model}; got {n_heads}")
    if n_heads % comm.size:
        raise ValueError(
            f"n_heads must be a multiple of the number of ranks, {comm.size}, since no head is "
            f"cut; got {n_heads}"
        )
    d_head, n_own = d_model // n_heads, n_heads // comm.size
    units = checked_cut(None, n_hidden, comm.size, "hidden units")[comm.rank]
    heads = slice(comm.rank * n_own * d_head, (comm.rank + 1) * n_own * d_head)
    return [
        HalfBlock(
            comm, norm("norm 1", d_model, n_tokens),
            attention("attention", d_model, n_heads, d_head, n_tokens),
            attention("attention", d_model, n_own, d_head, n_tokens), heads,
        ),
        HalfBlock(
            comm, norm("norm 2", d_model, n_tokens),
            two_layers("mlp", d_model, n_hidden, n_tokens),
            two_layers("mlp", d_model, units.stop - units.start, n_tokens), units,
        ),
    ]  # fmt: skip


def _dim(name: str) -> int:
    """Say which dimension of a tensor is cut: what leads out of the units has them as inputs."""
    return 1 if name.startswith("out.") else 0


def _at(name: str, own: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * _dim(name), own)
