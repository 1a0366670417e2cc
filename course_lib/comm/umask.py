"""Who may not read the files that this process makes."""

import os

__all__ = ["current_umask"]


def current_umask() -> int:
    """Return it, as ``os.umask`` takes it."""
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mask
