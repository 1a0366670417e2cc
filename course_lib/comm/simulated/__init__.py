"""Virtual workers in virtual time: deterministic, on one thread, by the thousand."""
