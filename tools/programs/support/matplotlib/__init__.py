"""A substitute for matplotlib, which draws nothing: the tests only use the printed output of programs."""
