"""A course that runs: distributed training, every scheme a short readable file."""
