"""Runs the program named on the command line as it is."""

import sys

import support

support.start()
sys.argv = sys.argv[1:]
support.run(sys.argv[0])
