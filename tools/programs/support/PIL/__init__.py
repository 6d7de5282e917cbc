"""A substitute for Pillow: no test uses the pictures that the programs save."""
