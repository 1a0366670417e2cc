"""Local SGD: the same start, H steps of one's own, the mean of the models; and again.

That is ``parameter_averaging`` with ``every=H``, by the name that the field has for it when H is
above 1, so that the scheme is written once. Each rank keeps a momentum of its own through the
averages; nothing but the parameters is sent. Averaged after every client's pass over data of its
own it is also called federated averaging.

Cost: an all-reduce of n bytes after every H steps and after the last one, for n = the bytes of the
parameters; before the first a broadcast of n bytes. After an average all ranks hold one model.

References
----------
S. U. Stich, "Local SGD converges fast and communicates little", International Conference on
Learning Representations, 2019.

B. McMahan, E. Moore, D. Ramage et al., "Communication-efficient learning of deep networks from
decentralized data", AISTATS 2017, algorithm 1.
"""

from course_lib.schemes.parameter_averaging import parameter_averaging

__all__ = ["local_sgd"]

local_sgd = parameter_averaging
