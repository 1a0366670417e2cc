"""Measurements, each against its peer in the same run. Nothing here is asserted in the tests."""
