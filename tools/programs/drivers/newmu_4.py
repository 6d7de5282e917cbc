import support

support.start()
support.newmu(ntrain=6400, ntest=1000)
support.stop_after(2)
support.run("4_modern_net.py")
