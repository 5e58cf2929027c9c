#!/usr/bin/env python3
"""Measure an embedded model on held-out scenes, as the grounder uses it: ``<domain>_exam.py``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

os.environ.setdefault('OMP_NUM_THREADS', '1')

from course import courses


def main(argv: list[str] | None = None) -> None:
    """Command line; what follows the domain is the exam's."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument('--domain', default='blocksworld', choices=courses(),
                        help='whose model to measure')
    given, rest = parser.parse_known_args(argv)
    sys.argv[0] += f' --domain {given.domain}'
    importlib.import_module(f'{given.domain}_exam').main(rest)


if __name__ == '__main__':
    main()
