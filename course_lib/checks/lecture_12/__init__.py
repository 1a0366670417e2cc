"""The checks of set 12: flops against bytes, steps done again, what a resume lost, a capstone."""
