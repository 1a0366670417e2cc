"""A fully connected layer, written out: three products of matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.models.chain import ThreeFlops

__all__ = ["FullyConnected"]

Matrix = NDArray[Any]


class FullyConnected:
    """Every output is a weighted sum of all inputs and a bias; then, unless it is the last, a ReLU.

    Parameters
    ----------
    name : str
        What to call it.
    n_in, n_out : int
        How many numbers an example has before it and after it, 1 or more. Inputs of other shapes
        with as many numbers are flattened.
    bends : bool, default: True
        Whether what would be below 0 becomes 0 (ReLU).

    Notes
    -----
    Cost: 2 m n_in n_out flops for each of the three, for m examples.

    References
    ----------
    K. He, X. Zhang, S. Ren and J. Sun, "Delving deep into rectifiers", arXiv:1502.01852, 2015,
    section 2.2 (the first weights).
    """

    def __init__(self, name: str, n_in: int, n_out: int, bends: bool = True) -> None:
        if n_in < 1 or n_out < 1:
            raise ValueError(f"n_in and n_out must be 1 or more, got {n_in} and {n_out}")
        self.name, self.n_in, self.n_out, self.bends = name, n_in, n_out, bends
        self.n_parameters = n_in * n_out + n_out
        self.parameter_shapes = ((n_out, n_in), (n_out,))

    def unpack(self, w: Matrix) -> tuple[Matrix, Matrix]:
        """View a flat vector as the weights and the biases.

        Parameters
        ----------
        w : numpy.ndarray, shape (n_parameters,)
            The layer's parameters, or their gradient.

        Returns
        -------
        W : numpy.ndarray, shape (n_out, n_in)
            The weights of an output are a row.
        b : numpy.ndarray, shape (n_out,)
            The biases.
        """
        n_weights = self.n_in * self.n_out
        return w[:n_weights].reshape(self.n_out, self.n_in), w[n_weights:]

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what it makes of one example; refuse inputs of another size."""
        if int(np.prod(input_shape)) != self.n_in:
            raise ValueError(
                f"{self.name} must get {self.n_in} numbers an example, got shape {input_shape}"
            )
        return (self.n_out,)

    def initial(self, rng: np.random.Generator) -> Matrix:
        """Draw weights that keep the size of what passes, halved by a ReLU or not; biases are 0."""
        limit = np.sqrt((6 if self.bends else 3) / self.n_in)  # of a uniform distribution
        weights = rng.uniform(-limit, limit, self.n_in * self.n_out)
        return np.concatenate([weights, np.zeros(self.n_out)])

    def initial_part(
        self, rng: np.random.Generator, outputs: slice, inputs: slice = slice(None)
    ) -> Matrix:
        """Draw what ``initial`` draws, and keep these outputs' weights for these inputs.

        Parameters
        ----------
        rng : numpy.random.Generator
            As new as that for ``initial``.
        outputs, inputs : slice
            What is kept; the weights of one output at a time are drawn, whoever keeps them.

        Returns
        -------
        numpy.ndarray, one-dimensional
            The weights and then the biases, as those of a smaller layer.
        """
        limit = np.sqrt((6 if self.bends else 3) / self.n_in)
        kept = []
        for output in range(outputs.stop):
            weights = rng.uniform(-limit, limit, self.n_in)
            if output >= outputs.start:
                kept.append(weights[inputs].copy())
        return np.concatenate([*kept, np.zeros(outputs.stop - outputs.start)])

    def of_outputs(self, n_out: int) -> "FullyConnected":
        """Return the mathematics of so many of its outputs."""
        return FullyConnected(self.name, self.n_in, n_out, self.bends)

    def forward(self, w: Matrix, x: Matrix) -> tuple[Matrix, Any]:
        """Return ``x W^T + b``, bent; going back needs what came in and what went out."""
        W, b = self.unpack(w)
        flat = x.reshape(len(x), self.n_in)
        # (m, n_out). OpenBLAS takes up to twice as long over flat @ W.T with numbers of float32.
        y = np.add((W @ flat.T).T, b, order="C")
        if self.bends:
            np.maximum(y, 0, out=y)
        return y, (x.shape, flat, y)

    def input_gradient(self, w: Matrix, saved: Any, dy: Matrix) -> Matrix:
        """Return ``dy W``, without the places where the ReLU has let nothing through."""
        shape, _, _ = saved
        dx: Matrix = self._unbent(saved, dy) @ self.unpack(w)[0]  # (m, n_in)
        return dx.reshape(shape)

    def weight_gradient(self, saved: Any, dy: Matrix) -> Matrix:
        """Return ``dy^T x`` and the sum of dy's rows, in one flat vector."""
        _, x, _ = saved
        dy = self._unbent(saved, dy)
        grad = np.empty(self.n_parameters, dy.dtype)
        of_weights, of_biases = self.unpack(grad)
        np.matmul(dy.T, x, out=of_weights)
        np.sum(dy, axis=0, out=of_biases)
        return grad

    def _unbent(self, saved: Any, dy: Matrix) -> Matrix:
        return dy * (saved[2] > 0) if self.bends else dy

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count the operations for so many examples."""
        product = 2.0 * n_examples * self.n_in * self.n_out
        return ThreeFlops(product, product, product)
