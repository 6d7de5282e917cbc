"""Modules of theano.tests that test programs import."""
