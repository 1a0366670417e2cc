"""What an exercise calls in its check cell."""
