"""Makes the data of the oracle anew: `python make.py [GROUP]...`. See README.md."""

import importlib
import sys

GROUPS = ["elementwise", "movement", "indexing", "reductions", "special", "products", "matrices", "windows"]

if __name__ == "__main__":
    for name in sys.argv[1:] or GROUPS:
        importlib.import_module(name).make()
