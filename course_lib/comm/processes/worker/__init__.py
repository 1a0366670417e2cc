"""The life of a worker process, from its start to its last words."""
