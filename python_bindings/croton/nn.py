"""Networks: layers, models, losses, metrics, optimizers and `fit`, in Keras's terms; see docs/use/networks.md.

    from croton import nn

    model = nn.Sequential([nn.Dense(128, "relu", input_shape=(784,)), nn.Dense(10, "softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, epochs=5)
"""

import abc as _abc

from ._croton import _nn
from ._croton._nn import *  # noqa: F403


def _does_nothing(method):
    """Marks a method that need not be called: a training without other methods never waits for Python."""
    method.does_nothing = True
    return method


class Callback(metaclass=_abc.ABCMeta):
    """The base of callbacks, whose methods `fit` calls during training. `self.model` is the model that is trained.

    `logs` has the current numbers by name; numbers that on_epoch_end adds to it are part of the history. An exception
    of a method ends the training and is raised by fit unchanged. The methods for batches make fit wait for each batch.
    """

    model = None

    def set_model(self, model):
        """Called with the model before the training."""
        self.model = model

    @_does_nothing
    def on_train_begin(self, logs=None):
        """Called before the first epoch."""

    @_does_nothing
    def on_train_end(self, logs=None):
        """Called after the last epoch, with its logs."""

    @_does_nothing
    def on_epoch_begin(self, epoch, logs=None):
        """Called before an epoch, counted from 0."""

    @_does_nothing
    def on_epoch_end(self, epoch, logs=None):
        """Called after an epoch and its validation, with its logs."""

    @_does_nothing
    def on_batch_begin(self, batch, logs=None):
        """Called before a batch, counted from 0."""

    @_does_nothing
    def on_batch_end(self, batch, logs=None):
        """Called after a batch, with the logs of the epoch so far."""

    @_does_nothing
    def on_train_batch_begin(self, batch, logs=None):
        """Called as on_batch_begin."""

    @_does_nothing
    def on_train_batch_end(self, batch, logs=None):
        """Called as on_batch_end."""


Callback.register(_nn.NativeCallback)


class LambdaCallback(Callback):
    """A callback made from functions: LambdaCallback(on_epoch_end=lambda epoch, logs: print(logs))."""

    def __init__(self, **functions):
        for name, function in functions.items():
            if not name.startswith("on_") or not hasattr(Callback, name):
                known = ", ".join(method for method in vars(Callback) if method.startswith("on_"))
                raise TypeError(f"a callback has no method {name}; it has {known}")
            setattr(self, name, function)


for _name in dir(_nn):
    if isinstance(getattr(_nn, _name), type):
        getattr(_nn, _name).__module__ = __name__

__all__ = [name for name in dir(_nn) if not name.startswith("_")] + ["Callback", "LambdaCallback"]
