import numpy
import support

support.start()
support.old_scipy()
support.package("sklearn.externals", joblib=None)
names = support.run("demo.py")
rng = numpy.random.RandomState(5)
real, noise = rng.normal(1, 1, (128, 1)).astype("float32"), rng.uniform(-1, 1, (128, 1)).astype("float32")
print("Costs %.6f %.6f %.6f %.6f" % tuple(float(cost) for cost in names["_cost"](real, noise)))
