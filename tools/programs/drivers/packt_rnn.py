import sys

import support

support.start()
support.old_numpy()
sys.argv = ["train.py", "--hidden", "64", "--epochs", "1", "--print_interval", "20", "--model", sys.argv[1]]
support.run("train.py")
