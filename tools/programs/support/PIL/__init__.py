"""Stand-in for Pillow: the programs save pictures that no test looks at."""
