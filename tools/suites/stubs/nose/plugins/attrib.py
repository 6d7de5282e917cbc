def attr(*names, **values):
    """Mark a test with attributes, as nose does; the runner does not select by them."""
    def decorate(item):
        for name in names:
            setattr(item, name, True)
        for name, value in values.items():
            setattr(item, name, value)
        return item
    return decorate
