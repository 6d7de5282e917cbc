"""What test programs import of theano.tests."""
