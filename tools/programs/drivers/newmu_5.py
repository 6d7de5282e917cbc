import support

support.start()
support.newmu(ntrain=1280, ntest=500)
support.stop_after(2)
support.run("5_convolutional_net.py")
