"""Needs packages that do not exist, one of them by way of a file beside it."""

import gymnasium
import no_such_package_one
from needs_more import something
from no_such_package_two.parts import other

print(gymnasium, no_such_package_one, something, other)
