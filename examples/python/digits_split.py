"""The digits for the examples, in an order that depends only on the seed, with one in five held out."""

import numpy as np

import croton


def load(side, seed=0):
    """(train_x, train_y, test_x, test_y): images of side x side pixels, as rows, and their class numbers."""
    images, labels = croton.io.digits(side)
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order], labels[order]
    held_out = len(images) // 5
    return images[held_out:], labels[held_out:], images[:held_out], labels[:held_out]
