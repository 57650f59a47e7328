#!/usr/bin/env python3
"""Computes the conformance vectors again, by the text of the documents (docs/CONFORMANCE.md).

check.py [FOLDER [KIND ..]]: FOLDER is tests/vectors of the repository, a KIND one of scalars, trees, macros, programs,
units, protocol and money (default: all). Prints a line for each kind. Exits with 1 if a value differs and says which.
"""
import os
import sys

from check_engine import check_macros, check_programs, check_scalars, check_trees, check_units
from check_network import check_money, check_protocol
from compare import checked, differences

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "vectors")
CHECKS = {"scalars": check_scalars, "trees": check_trees, "macros": check_macros, "programs": check_programs,
          "units": check_units, "protocol": check_protocol, "money": check_money}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else FOLDER
    for name in sys.argv[2:] or CHECKS:
        values, differ = len(checked), len(differences)
        CHECKS[name](folder)
        print(f"{name:10} {len(checked) - values} values, {len(differences) - differ} differ")
    for difference in differences:
        print(difference, file=sys.stderr)
    sys.exit(1 if differences else 0)


main()
