"""Which functions fit an array: NumPy's or torch's, under the same names."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_numpy", "namespace"]


def namespace(array: Any) -> Any:
    """Return the module whose functions take such an array, with the names of the array API.

    For NumPy's it is NumPy itself. What ``array_api_compat`` would put around it has all of NumPy
    loaded, its Fortran compiler and its test tools too: a tenth of a second in every new worker.

    Parameters
    ----------
    array : numpy.ndarray or torch.Tensor
        Any array.

    Returns
    -------
    module
        NumPy, or torch under the names of the standard.
    """
    if isinstance(array, np.ndarray | np.generic):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(array)


def as_numpy(array: Any) -> NDArray[Any]:
    """See an array of either kind as NumPy's, to keep it in a file or to look at its bytes.

    Parameters
    ----------
    array : array
        Parameters, or a number of an optimizer.

    Returns
    -------
    numpy.ndarray
        It shares memory where it can; what lies on a GPU is copied.
    """
    return array.detach().cpu().numpy() if hasattr(array, "detach") else np.asarray(array)
