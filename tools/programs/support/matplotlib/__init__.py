"""Stand-in for matplotlib, which draws nothing: the programs are judged by what they print."""
