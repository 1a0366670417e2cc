"""Gradients that are sent in fewer bytes than they have, with a loss that is remembered.

One way to compress a file. Each adds up the vectors of all ranks, roughly, and says what of this
rank's vector has gone into the sum: what is missing, the rank adds to its next vector (*error
feedback*), so that nothing is lost for ever. In a ``Cost``, P is the number of ranks, n the length
of the vector and b the bytes of one of its numbers.
"""

from course_lib.compression.compressor import Compressor
from course_lib.compression.powersgd import PowerSGD
from course_lib.compression.sign import Sign
from course_lib.compression.topk import TopK

__all__ = ["Compressor", "PowerSGD", "Sign", "TopK"]
