import support

support.start()
support.run("1_linear_regression.py")
