"""What a transformer block is made of, as layers of a chain: two kinds of work, and a norm."""

from torch import Tensor, nn

from course_lib.models.torch_layer import TorchLayer

__all__ = ["attention", "norm", "two_layers"]


class _Attention(nn.Module):
    """Every token looks at all tokens, once for each head; without the bias of what goes out."""

    def __init__(self, d_model: int, n_heads: int, d_head: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, n_heads * d_head)
        self.key = nn.Linear(d_model, n_heads * d_head)
        self.value = nn.Linear(d_model, n_heads * d_head)
        self.out = nn.Linear(n_heads * d_head, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Compute (m, tokens, d_model) from as many."""
        query, key, value = (
            layer(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (m, heads, tokens, d_head)
            for layer in (self.query, self.key, self.value)
        )
        found = nn.functional.scaled_dot_product_attention(query, key, value)
        mixed: Tensor = self.out(found.transpose(1, 2).flatten(2))
        return mixed


class _TwoLayers(nn.Module):
    """Every token for itself, through hidden units; without the bias of what goes out."""

    def __init__(self, d_model: int, n_hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(d_model, n_hidden)
        self.out = nn.Linear(n_hidden, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Compute (m, tokens, d_model) from as many."""
        made: Tensor = self.out(nn.functional.gelu(self.hidden(x)))
        return made


def attention(name: str, d_model: int, n_heads: int, d_head: int, n_tokens: int) -> TorchLayer:
    """Make a multi-head attention whose output has no bias, so that heads can be added up.

    Parameters
    ----------
    name : str
        What to call it.
    d_model : int
        Numbers a token.
    n_heads, d_head : int
        How many heads, and the numbers of each.
    n_tokens : int
        Tokens an example, to count operations.

    Returns
    -------
    TorchLayer
        With the parameters ``query``, ``key``, ``value`` and ``out``.

    References
    ----------
    A. Vaswani, N. Shazeer, N. Parmar et al., "Attention is all you need", NIPS 2017, section 3.2.
    """
    width = n_heads * d_head
    uses = n_tokens * (4 * d_model * width + 2 * n_tokens * width)
    return TorchLayer(name, _Attention(d_model, n_heads, d_head), uses)


def two_layers(name: str, d_model: int, n_hidden: int, n_tokens: int) -> TorchLayer:
    """Make the perceptron of a block whose output has no bias, so that units can be added up.

    Parameters
    ----------
    name : str
        What to call it.
    d_model : int
        Numbers a token.
    n_hidden : int
        Hidden units.
    n_tokens : int
        Tokens an example, to count operations.

    Returns
    -------
    TorchLayer
        With the parameters ``hidden`` and ``out``.
    """
    return TorchLayer(name, _TwoLayers(d_model, n_hidden), 2 * n_tokens * d_model * n_hidden)


def norm(name: str, d_model: int, n_tokens: int) -> TorchLayer:
    """Make a layer norm.

    Parameters
    ----------
    name : str
        What to call it.
    d_model : int
        Numbers a token.
    n_tokens : int
        Tokens an example, to count operations.

    Returns
    -------
    TorchLayer
        With a scale and a shift for each number; those that training starts from are 1 and 0.
    """
    return TorchLayer(name, nn.LayerNorm(d_model), n_tokens * d_model)
