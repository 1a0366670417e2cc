"""Collectives: one algorithm, one file, over ``send`` / ``recv`` / ``sendrecv`` only."""
