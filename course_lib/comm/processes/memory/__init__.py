"""The shared memory, how it is divided, and how a message moves through it."""
