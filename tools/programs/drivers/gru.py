import support

support.start()
support.old_numpy()
support.run("train.py")
