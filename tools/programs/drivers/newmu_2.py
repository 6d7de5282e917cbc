import support

support.start()
support.newmu(ntrain=12800, ntest=1000)
support.stop_after(5)
support.run("2_logistic_regression.py")
