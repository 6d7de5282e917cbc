"""The functions that the linker leaves replaceable (cmake/replaceable.list) are those that tests/differential/hooks.cpp
replaces: with another name in the list, a planted bug would not be planted, and no message would say so.

    python3 tests/tree/replaceable.py
"""
import re
import unittest

from links import read


class Replaceable(unittest.TestCase):

    def test_the_list_and_the_hooks(self):
        listed = re.findall(r"^  (_Z\w+);$", read("cmake/replaceable.list"), re.M)
        strings = re.sub(r'"\s*"', "", read("tests/differential/hooks.cpp"))  # long names are in parts
        replaced = re.findall(r'"(_Z\w+)"', strings)
        self.assertGreaterEqual(len(replaced), 9)
        self.assertEqual(listed, replaced)


if __name__ == "__main__":
    unittest.main()
