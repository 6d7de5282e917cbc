"""Stand-in for the package that the RNN-RBM tutorial reads its music with."""
