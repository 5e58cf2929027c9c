#!/usr/bin/env python3
"""Render training scenes of a domain, in shards that are functions of their seed."""

from __future__ import annotations

import argparse
from pathlib import Path

from curriculum import curricula, load_curriculum
from shards import render


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--domain', default='blocksworld', choices=curricula(),
                        help='of the scenes')
    parser.add_argument('--out', type=Path, required=True, help='folder of the shards')
    parser.add_argument('--first', type=int, default=0, help='seed of the first shard')
    parser.add_argument('--shards', type=int, default=60, help='how many')
    parser.add_argument('--workers', type=int, default=2, help='processes')
    args = parser.parse_args()
    render(args.out, args.first, args.shards, args.workers, load_curriculum(args.domain).draw)


if __name__ == '__main__':
    main()
