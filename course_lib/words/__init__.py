"""Numbers in words: units, tables, what an argument that is no number is told; and even parts.

It imports no other part, and every part may import it. Everywhere 1 KB is 1,000 bytes; 1,024 are
1 KiB.
"""
