import support

support.start()
support.old_scipy()
support.package("foxhound.utils.vis", grayscale_grid_vis=None, unit_scale=None)
support.newmu(ntrain=12800, ntest=1000)
support.stop_after(5)
support.run("3_net.py")
