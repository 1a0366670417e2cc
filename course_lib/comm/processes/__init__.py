"""Real worker processes on this computer, talking through shared memory."""
