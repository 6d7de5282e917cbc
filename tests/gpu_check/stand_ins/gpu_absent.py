"""A peer for tests/gpu_check/check.py whose package is not installed."""
print('{"program": "absent", "missing": "absent is not installed"}')
