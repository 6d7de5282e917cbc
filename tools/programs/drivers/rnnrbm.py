import support

support.start()
from rnnrbm import test_rnnrbm  # noqa: E402

model = test_rnnrbm(num_epochs=3)
model.generate("sample.mid", show=False)
roll = model.generate_function()
print("Generated %d steps of %d notes, all 0 or 1: %s" % (roll.shape + (bool(((roll == 0) | (roll == 1)).all()),)))
