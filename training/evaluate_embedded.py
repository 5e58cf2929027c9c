#!/usr/bin/env python3
"""Measure an embedded model on held-out scenes, as the grounder uses it.

What is asked and counted is said in ``<domain>_evaluation.py``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys

os.environ.setdefault('OMP_NUM_THREADS', '1')

from curriculum import curricula


def main(argv: list[str] | None = None) -> None:
    """Run ``<domain>_evaluation.py`` with the arguments that follow the domain."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument('--domain', default='blocksworld', choices=curricula(),
                        help='whose model to measure')
    given, rest = parser.parse_known_args(argv)
    sys.argv[0] += f' --domain {given.domain}'
    importlib.import_module(f'{given.domain}_evaluation').main(rest)


if __name__ == '__main__':
    main()
