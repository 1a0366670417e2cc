"""Training on two sites, far apart: what rare averages save."""

from dataclasses import dataclass

from course_lib.costs.bounds import AtMost
from course_lib.costs.catalogue import price
from course_lib.costs.checking import checked, count, duration, ranks

__all__ = ["TwoSites"]


@dataclass(frozen=True)
class TwoSites:
    """Two sites of as many ranks each: fast links inside, one slow link between them.

    All ranks average their models with ``allreduce_two_level``: each site adds up, the two sums are
    exchanged, each site is told. So one exchange waits for the slow link twice.

    Attributes
    ----------
    ranks_per_site : int
        How many, 1 or more.
    alpha_s, beta_s_per_byte : float
        Of a message inside a site.
    alpha_between_s, beta_between_s_per_byte : float
        Of one between the sites.

    Examples
    --------
    >>> sites = TwoSites(1, 2e-5, 8e-10, alpha_between_s=0.1, beta_between_s_per_byte=8e-9)
    >>> for every in (1, 8, 64, 500):  # a model of 1 MB, steps of 10 ms
    ...     print(f"{every:3}: {sites.training_s(500, every, 0.01, 1_000_000):6.2f} s")
      1: 109.11 s
      8:  18.21 s
     64:   6.77 s
    500:   5.32 s
    """

    ranks_per_site: int
    alpha_s: float
    beta_s_per_byte: float
    alpha_between_s: float
    beta_between_s_per_byte: float

    def __post_init__(self) -> None:
        """Check every number once."""
        ranks("ranks_per_site", self.ranks_per_site)
        duration("alpha_s", self.alpha_s)
        duration("beta_s_per_byte", self.beta_s_per_byte)
        duration("alpha_between_s", self.alpha_between_s)
        duration("beta_between_s_per_byte", self.beta_between_s_per_byte)

    @checked(n_bytes=count, item_bytes=ranks)
    def exchange_s(self, n_bytes: int, item_bytes: int = 8) -> float:
        """Return what one average takes.

        Parameters
        ----------
        n_bytes : int
            Of the parameters.
        item_bytes : int, default: 8
            Of one of them.

        Returns
        -------
        float
            Seconds; an ``AtMost`` where the trees inside a site have no closed form.
        """
        inside_s = [
            price(name, self.ranks_per_site, n_bytes, item_bytes).time_s(
                self.alpha_s, self.beta_s_per_byte
            )
            for name in ("reduce_tree", "broadcast_tree")
        ]
        between = price("allreduce_ring", 2, n_bytes, item_bytes)
        found = sum(inside_s) + between.time_s(self.alpha_between_s, self._slower_beta)
        return AtMost(found) if any(isinstance(part, AtMost) for part in inside_s) else found

    @checked(
        steps=count, every=ranks, step_s=duration, n_bytes=count, outer_s=duration,
        item_bytes=ranks,
    )  # fmt: skip
    def training_s(
        self, steps: int, every: int, step_s: float, n_bytes: int, outer_s: float = 0.0,
        item_bytes: int = 8,
    ) -> float:  # fmt: skip
        """Predict local SGD, or DiLoCo, from the first broadcast to the last average.

        Parameters
        ----------
        steps : int
            How many each rank takes in all, T.
        every : int
            How many lie between two averages, H; there is one after the last step, too.
        step_s : float
            What a rank computes in a step.
        n_bytes : int
            Of the parameters.
        outer_s : float, default: 0.0
            What DiLoCo computes in an outer step; there is none for steps left over.
        item_bytes : int, default: 8
            Of one parameter.

        Returns
        -------
        float
            Seconds; an ``AtMost`` where the exchange's are.
        """
        told = price("broadcast_tree", self.ranks_per_site, n_bytes, item_bytes)
        start_s = self.alpha_between_s + n_bytes * self._slower_beta
        start_s += told.time_s(self.alpha_s, self.beta_s_per_byte)
        exchange_s = self.exchange_s(n_bytes, item_bytes)
        computing_s = steps * step_s + steps // every * outer_s
        found = start_s + computing_s + _n_averages(steps, every) * float(exchange_s)
        return AtMost(found) if isinstance(exchange_s, AtMost) else found

    @checked(steps=count, every=ranks, n_bytes=count)
    def bytes_between(self, steps: int, every: int, n_bytes: int) -> int:
        """Count what crosses from site to site, both ways together.

        Parameters
        ----------
        steps, every : int
            T and H.
        n_bytes : int
            Of the parameters.

        Returns
        -------
        int
            For each average n in each direction, and n for the first broadcast.
        """
        return n_bytes * (1 + 2 * _n_averages(steps, every))

    @checked(steps=count, every=ranks, n_bytes=count)
    def bytes_in_all(self, steps: int, every: int, n_bytes: int) -> int:
        """Count all bytes that are sent, inside the sites and between them.

        Parameters
        ----------
        steps, every : int
            T and H.
        n_bytes : int
            Of the parameters.

        Returns
        -------
        int
            For each average, what crosses and 2 (R - 1) n in each site of R ranks.
        """
        inside = 2 * (self.ranks_per_site - 1) * n_bytes
        first = inside  # each but one rank of a site is told by another of it
        between = self.bytes_between(steps, every, n_bytes)
        return first + 2 * inside * _n_averages(steps, every) + between

    @property
    def _slower_beta(self) -> float:
        """A NIC may be slower than the link between the sites."""
        return max(self.beta_s_per_byte, self.beta_between_s_per_byte)


def _n_averages(steps: int, every: int) -> int:
    """Count the averages: one after every so many steps, and one after the last."""
    return -(-steps // every)
