"""A substitute for the package with which the RNN-RBM tutorial reads its music."""
