"""What was sent, received and computed in a run, and questions about it."""
