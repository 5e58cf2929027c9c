"""Describe the device that a benchmark ran on."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any


def describe_device(device: str) -> dict[str, Any]:
    """Card, memory and driver; or the kind of CPU. No names of hosts."""
    import torch
    if not device.startswith('cuda'):
        try:
            found = re.search(r'^model name\s*:\s*(.+)$', Path('/proc/cpuinfo').read_text(), re.M)
        except OSError:
            found = None
        return {'kind': 'cpu', 'name': found[1] if found else platform.processor() or None,
                'cpus': os.cpu_count(), 'capability': torch.backends.cpu.get_cpu_capability()}
    about = torch.cuda.get_device_properties(device)
    return {'kind': 'cuda', 'name': torch.cuda.get_device_name(device), 'driver': _driver(),
            'cuda': torch.version.cuda, 'memory_gib': round(about.total_memory / 2 ** 30, 1),
            'capability': f'{about.major}.{about.minor}',
            'multiprocessors': about.multi_processor_count}


def _driver() -> str | None:
    """Version of the card's driver; None if it cannot be found out."""
    tool = shutil.which('nvidia-smi')
    if tool is None:
        return None
    try:
        done = subprocess.run([tool, '--query-gpu=driver_version', '--format=csv,noheader'],
                              capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter(done.stdout.split()), None)
