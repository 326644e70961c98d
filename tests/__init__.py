"""The tests. What is compiled of them and of the program is kept, whatever the environment says: five processes load it all."""

import os
import sys

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
