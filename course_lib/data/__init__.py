"""Real data sets that need no download."""
