"""The checks of exercise set 07: pipelines on paper, their orders, and micro-batches."""
