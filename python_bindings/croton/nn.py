"""Networks: layers, models, losses, metrics, optimizers and `fit`, in Keras's terms. docs/use/networks.md is the tour.

    from croton import nn

    model = nn.Sequential([nn.Dense(128, "relu", input_shape=(784,)), nn.Dense(10, "softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, epochs=5)
"""

import abc as _abc

from ._croton import _nn
from ._croton._nn import *  # noqa: F403


def _nothing(method):
    """Marks a method that need not be called: a training without it never waits for Python."""
    method.does_nothing = True
    return method


class Callback(metaclass=_abc.ABCMeta):
    """What happens beside training: override what is of interest. `self.model` is the model that learns.

    `logs` has the numbers so far by name; what on_epoch_end adds to it is in the history. What a method raises ends the
    training, and comes out of fit as it is. The methods of batches make fit wait for each batch.
    """

    model = None

    def set_model(self, model):
        """Called before the training with the model."""
        self.model = model

    @_nothing
    def on_train_begin(self, logs=None):
        """Before the first epoch."""

    @_nothing
    def on_train_end(self, logs=None):
        """Behind the last epoch, with its numbers."""

    @_nothing
    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch, counted from 0."""

    @_nothing
    def on_epoch_end(self, epoch, logs=None):
        """Behind an epoch and its validation, with its numbers."""

    @_nothing
    def on_batch_begin(self, batch, logs=None):
        """Before a batch, counted from 0."""

    @_nothing
    def on_batch_end(self, batch, logs=None):
        """Behind a batch, with the numbers of the epoch so far."""

    @_nothing
    def on_train_batch_begin(self, batch, logs=None):
        """The same as on_batch_begin."""

    @_nothing
    def on_train_batch_end(self, batch, logs=None):
        """The same as on_batch_end."""


Callback.register(_nn.NativeCallback)


class LambdaCallback(Callback):
    """Functions in place of a class: LambdaCallback(on_epoch_end=lambda epoch, logs: print(logs))."""

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
