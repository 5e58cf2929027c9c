"""``sightplan bench grounding``: many yes/no questions about one image, ours and the plain way.

A model of random weights scores questions about one image of noise, twice: with the engine of the
backend ``transformers``, which encodes the image once, and the plain way, in batches of prompts
that each carry the image, from which ``generate`` makes one token. Both start from pixels and
tokens on the device; what a processor does is in neither. Their probabilities are compared: a
difference beyond rounding means that they did not compute the same, and fails the command. The
floor is explained in :mod:`sightplan_bench.floor`; its rates are measured in the same run.

``python -m sightplan_bench.grounding`` does the same and needs no more than numpy, scipy, torch
and transformers, so that it also runs where sightplan is not built.
"""

from __future__ import annotations

import datetime
import gc
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import CommandParser, option
from sightplan.commands.frame import Result, add_command, json_wanted, note
from sightplan.model import BackendError, InfrastructureError, InputError
from sightplan.model.settings import picked
from sightplan_bench.devices import describe_device
from sightplan_bench.floor import SHAPES, Grid, Rates, Shape, depths, floor, work
from sightplan_bench.output import say, shown

if TYPE_CHECKING:
    from sightplan_bench.models import Scene
    from sightplan_models._shared_prefix import SharedPrefix

_TOLERANCES = {'float32': 2e-3, 'bfloat16': 0.04, 'float16': 0.02}
"""Largest difference of two probabilities of yes that rounding explains, by type."""
_MIB = 2 ** 20

_say = partial(say, 'grounding')
_WHAT, _HOW, _SERVED = 'what to measure', 'how', 'servers'
"""Headings of the help text."""
_ABOUT = """\
Time and memory of N yes/no questions about one image, on a model with random weights (the
arithmetic is the same): our shared-prefix engine, the plain way (batches of prompts that each
carry the image, one token by generate, left padding), and the floor that the device's measured
rates allow. Prints one JSON object; progress goes to standard error.

qwen2.5-vl-7b in bf16 has 15.5 GiB of weights and fits a card of 24 GB; where a batch of the plain
way does not fit, it is halved, which the result tells.
"""

_EXAMPLES = """\
examples:
  sightplan bench grounding --device cuda --out grounding.json
  sightplan bench grounding --device cuda --config qwen2.5-vl-32b --questions 60 --skip-plain
  sightplan bench grounding --device cpu --config cpu-small --questions 10 60
  sightplan bench grounding --device cpu --config cpu-tiny
  sightplan bench grounding --model DIR --questions 60 --repeats 5 \\
      --server http://localhost:8080/v1 --server-model NAME
"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the measurement; None leaves a choice to the device."""

    device: str = option(
        'auto', 'auto, cpu, cuda or cuda:NUMBER (default: cuda if there is one)', metavar='DEVICE',
        group=_WHAT)
    config: str | None = option(
        None, 'shape of the model (default: qwen2.5-vl-7b on cuda, cpu-small on cpu)',
        choices=tuple(SHAPES), group=_WHAT)
    questions: tuple[int, ...] = option(
        (10, 60, 150), 'numbers of questions (default: 10 60 150)', listed=True, group=_WHAT)
    image_tokens: int | None = option(
        None, 'tokens of the image, about (default: 600; 391 are 640x480 pixels)', group=_WHAT)
    wording: str = option(
        'random',
        'random: words without common beginnings; or a domain such as blocksworld: its questions',
        metavar='NAME', group=_WHAT)
    question_tokens: int = option(
        30, 'mean tokens of a random question and what follows it', group=_WHAT)
    shared_tokens: int = option(64, 'tokens of text that all prompts share', group=_WHAT)
    dtype: str | None = option(
        None, 'type of weights and activations (default: bfloat16 on cuda, float32 on cpu)',
        choices=tuple(_TOLERANCES), group=_WHAT)
    mechanism: str = option(
        'auto', 'how the prefix is shared: auto, or a mechanism of the backend transformers',
        metavar='NAME', group=_HOW)
    memory_gb: float = option(
        0.0, 'bound on the memory of one of our passes (default: half of what is free on a card, '
        '2 on the CPU)', metavar='GIB', group=_HOW)
    attention: str = option(
        'sdpa', 'attention of transformers', choices=('sdpa', 'eager', 'flash_attention_2'),
        group=_HOW)
    batch_size: int | None = option(
        None, 'prompts per batch of the plain way (default: 64 on cuda, 4 on cpu: the two that '
        'the reference uses)', group=_HOW)
    skip_plain: bool = option(
        False, 'leave out the plain way, which takes nearly all the time', group=_HOW)
    repeats: int | None = option(
        None, 'measurements of ours (default: 5 on cuda, 3 on cpu)', group=_HOW)
    plain_repeats: int | None = option(
        None, 'measurements of the plain way (default: 3 on cuda, 1 on cpu)', group=_HOW)
    threads: int | None = option(
        None, 'CPU threads (default: 1 on cpu, those of torch on cuda)', group=_HOW)
    seed: int = option(0, 'of weights, words and pixels', group=_HOW)


@dataclass(frozen=True, slots=True)
class Arguments(Options):
    """Arguments of ``sightplan bench grounding``."""

    model: str | None = option(
        None, 'folder of a model: measure it as a whole (processor, HTTP, reading), in process, '
        'behind "sightplan serve" and one prompt a question, instead of random weights',
        metavar='DIR', group=_SERVED)
    server: str | None = option(
        None, "address of a server of OpenAI's protocol to measure beside it, such as "
        'http://localhost:8080/v1', metavar='URL', group=_SERVED)
    server_model: str | None = option(
        None, "the server's name for its model", metavar='NAME', group=_SERVED)
    out: str | None = option(
        None, 'write the JSON object to this file as well', metavar='FILE', group='results')


class Meter:
    """Time and peak memory of calls on a device.

    The clock for comparisons is the wall's; on the CPU with one thread it is the process's CPU
    time, which other processes on a shared machine disturb less.

    Args:
        device: ``cpu`` or ``cuda``, with or without a number.
        threads: threads of the CPU.
    """

    def __init__(self, device: str, threads: int) -> None:
        import torch
        self._cuda = torch.cuda if device.startswith('cuda') else None
        self._device = device
        self.clock = 'cpu' if self._cuda is None and threads == 1 else 'wall'

    def wait(self) -> None:
        """Wait until the device has finished all its work."""
        if self._cuda is not None:
            self._cuda.synchronize(self._device)

    def free(self) -> None:
        """Release memory that is no longer referenced."""
        gc.collect()
        if self._cuda is not None:
            self._cuda.empty_cache()

    def seconds(self, call: Callable[[], Any], times: int = 1) -> float:
        """Mean seconds of a call, over a number of calls, for comparisons."""
        self.wait()
        now = time.process_time if self.clock == 'cpu' else time.perf_counter
        start = now()
        for _ in range(times):
            call()
        self.wait()
        return (now() - start) / times

    def measure(self, call: Callable[[], Any], repeats: int) -> tuple[dict[str, Any], Any]:
        """Median times of a call, its peak memory, and its last result.

        Returns:
            ``ms`` (by the clock for comparisons), ``wall_ms``, ``cpu_ms``, all times of the
            clock, ``peak_mib`` (all that the process had on the device; on the CPU resident, None
            where the system does not tell) and ``extra_mib`` (the part beyond what it had before).
        """
        wall, cpu = [], []
        self.free()
        self.wait()
        before = self._reset_peak()
        result = None
        for _ in range(repeats):
            result = None
            start, start_cpu = time.perf_counter(), time.process_time()
            result = call()
            self.wait()
            wall.append(1e3 * (time.perf_counter() - start))
            cpu.append(1e3 * (time.process_time() - start_cpu))
        peak = self._peak() if before is not None else None
        times = cpu if self.clock == 'cpu' else wall
        return {'ms': round(statistics.median(times), 3),
                'wall_ms': round(statistics.median(wall), 3),
                'cpu_ms': round(statistics.median(cpu), 3),
                'all_ms': [round(value, 3) for value in times],
                'peak_mib': None if peak is None else round(peak / _MIB, 1),
                'extra_mib': None if peak is None or before is None else round(
                    (peak - before) / _MIB, 1)}, result

    def _reset_peak(self) -> int | None:
        """Forget the peak; bytes now in use."""
        if self._cuda is not None:
            self._cuda.reset_peak_memory_stats(self._device)
            return int(self._cuda.memory_allocated(self._device))
        try:
            Path('/proc/self/clear_refs').write_text('5')
        except OSError:
            return None
        return _resident('VmRSS')

    def _peak(self) -> int | None:
        if self._cuda is not None:
            return int(self._cuda.max_memory_allocated(self._device))
        return _resident('VmHWM')


def _resident(key: str) -> int | None:
    """A line of this process's memory statistics [byte]; None where there are none."""
    try:
        found = re.search(rf'^{key}:\s+(\d+) kB$', Path('/proc/self/status').read_text(), re.M)
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None


def measure_rates(shape: Shape, rows: int, device: str, dtype: str,
                  meter: Meter) -> dict[str, Any]:
    """Peak rates of the device: matrix products of the model's sizes, and a copy.

    Products of normal random data, because constant data draws less power and runs faster. The
    best of all sizes counts: the floor shall be one.

    Args:
        shape: the model, for the sizes.
        rows: tokens in a pass.
        device: where.
        dtype: type of the factors.
        meter: the clock.

    Returns:
        ``flops_per_s``, ``bytes_per_s``, and ``matmul``: every size with its rate.
    """
    import torch
    on_card = device.startswith('cuda')
    kind = getattr(torch, dtype)
    sizes = sorted({
        (rows, shape.hidden, shape.intermediate), (rows, shape.intermediate, shape.hidden),
        (rows, shape.hidden, shape.hidden),
        (4 * rows, shape.vision_hidden, shape.vision_intermediate)})
    products = []
    for m, k, n in sizes:
        left = torch.randn(m, k, device=device).to(kind)
        right = torch.randn(n, k, device=device).to(kind)
        with torch.inference_mode():
            seconds = _best(partial(torch.nn.functional.linear, left, right), meter,
                            0.05)
        products.append({'m': m, 'k': k, 'n': n,
                         'tflop_per_s': float(f'{2e-12 * m * k * n / seconds:.4g}')})
    size = (1024 if on_card else 256) * _MIB
    source = torch.full((size,), 7, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = _best(lambda: target.copy_(source), meter, 0.05)
    return {'flops_per_s': max(1e12 * float(p['tflop_per_s']) for p in products),
            'bytes_per_s': round(2 * size / seconds), 'matmul': products}


def _best(call: Callable[[], Any], meter: Meter, at_least_s: float) -> float:
    """Least seconds of a call in 5 measurements of a given duration, after a warm-up."""
    call()
    once = max(meter.seconds(call), 1e-6)
    times = max(1, round(at_least_s / once))
    return max(1e-9, min(meter.seconds(call, times) for _ in range(5)))


def measure_plain(ask: Callable[[int], Any], batch_size: int, repeats: int,
                  meter: Meter) -> tuple[dict[str, Any], Any]:
    """Measure the plain way; where a batch does not fit, halve it and start over.

    Args:
        ask: answers all questions in batches of so many prompts.
        batch_size: prompts in a batch, to begin with.
        repeats: measurements.
        meter: clock and memory.

    Returns:
        What the meter measured, with ``batch_size``, ``batch_size_asked`` and
        ``out_of_memory_at`` (batch sizes that did not fit); and the answers. Without times, and
        None, if not even one prompt fits.
    """
    def attempt(size: int) -> tuple[dict[str, Any], Any]:
        return meter.measure(lambda: ask(size), repeats)

    size = batch_size
    failed: list[int] = []
    while size:
        found = _unless_out_of_memory(partial(attempt, size))
        if found is not None:
            return {**found[0], 'batch_size': size, 'batch_size_asked': batch_size,
                    'out_of_memory_at': failed}, found[1]
        meter.free()
        failed.append(size)
        size //= 2
        _say(f'out of memory with batches of {failed[-1]}, trying {size}' if size else
             'out of memory even with one prompt')
    return {'batch_size_asked': batch_size, 'out_of_memory_at': failed}, None


def _unless_out_of_memory(call: Callable[[], Any]) -> Any:
    """The call's result; None if memory ran out. The error, which holds tensors, is let go."""
    import torch
    try:
        return call()
    except (torch.OutOfMemoryError, MemoryError):
        return None
    except RuntimeError as error:  # of the CPU's allocator, or of a library
        if not re.search("can't allocate memory|out of memory|ALLOC_FAILED", str(error)):
            raise
        return None


def compare(ours: Any, plain: Any, dtype: str, moved: Sequence[Any] = ()) -> dict[str, Any]:
    """Whether two ways gave the same probabilities of yes.

    They must agree within what rounding explains, and the questions must differ by much more than
    that: answers that are all alike would agree whatever was computed. In half precision rounding
    is as large as the mistake of positions that are off by one; so ours moved on or back by one
    must not agree clearly better.

    Args:
        ours: (N,) probabilities.
        plain: (N,) probabilities.
        dtype: type in which both were computed.
        moved: (N,) probabilities each, ours with the questions moved.

    Returns:
        ``max_difference``, ``rms_difference``, ``moved_difference`` (root mean square, the least
        of ``moved``; None without), ``spread`` (standard deviation over questions), ``flips``
        (questions on which they fall on different sides of one half), ``tolerance``, ``same``.
    """
    difference = float((ours - plain).abs().max())
    rms, *others = (float((found - plain).square().mean().sqrt()) for found in (ours, *moved))
    least = min(others, default=None)
    spread = float(plain.std(correction=0))
    tolerance = _TOLERANCES[dtype]
    return {'max_difference': float(f'{difference:.3g}'), 'rms_difference': float(f'{rms:.3g}'),
            'moved_difference': None if least is None else float(f'{least:.3g}'),
            'spread': round(spread, 4),
            'flips': int(((ours > 0.5) != (plain > 0.5)).sum()), 'tolerance': tolerance,
            'same': (difference <= tolerance and (len(plain) < 2 or difference < spread)
                     and (least is None or least >= 0.7 * rms))}


def settle(options: Options) -> Options:
    """Options with the device's defaults filled in.

    Raises:
        InputError: an option is bad, or there is no such device; says which.
    """
    import torch

    from sightplan_models._shared_prefix import MECHANISMS
    device = options.device
    if device == 'auto':
        device = 'cuda' if torch.cuda.is_available() else 'cpu'
    if not re.fullmatch(r'cpu|cuda(:\d+)?', device):
        raise InputError(f'--device {device} must be auto, cpu, cuda or cuda:NUMBER')
    card = device.startswith('cuda')
    if card and not torch.cuda.is_available():
        raise InputError(f'--device {device}: torch {torch.__version__} finds no CUDA device; '
                         'install a build of torch for CUDA, or measure with --device cpu')
    if card and int(device.partition(':')[2] or 0) >= torch.cuda.device_count():
        raise InputError(f'--device {device}: there are {torch.cuda.device_count()} devices')
    config = options.config or ('qwen2.5-vl-7b' if card else 'cpu-small')
    if config not in SHAPES:
        raise InputError(f'--config {config} is unknown; there are {", ".join(SHAPES)}')
    dtype = options.dtype or ('bfloat16' if card else 'float32')
    if dtype not in _TOLERANCES:
        raise InputError(f'--dtype {dtype} is unknown; there are {", ".join(_TOLERANCES)}')
    if options.mechanism not in ('auto', *MECHANISMS):
        raise InputError(f'--mechanism {options.mechanism} is unknown; there are auto, '
                         f'{", ".join(MECHANISMS)}')
    image = options.image_tokens or (30 if config == 'cpu-tiny' else 600)
    positive = {
        'batch-size': options.batch_size or (64 if card else 4),
        'repeats': options.repeats or (5 if card else 3),
        'plain-repeats': options.plain_repeats or (3 if card else 1),
        'image-tokens': image, 'threads': 1 if options.threads is None else options.threads,
        'questions': min(options.questions, default=0)}
    for name, value in positive.items():
        if value < 1:
            raise InputError(f'--{name} must be 1 or more, not {value}')
    if options.memory_gb < 0:
        raise InputError(f'--memory-gb must be 0 or more, not {options.memory_gb}')
    if options.question_tokens < 4 or options.shared_tokens < 4:
        raise InputError('--question-tokens and --shared-tokens must be 4 or more')
    return replace(
        options, device=device, config=config, dtype=dtype, questions=tuple(options.questions),
        batch_size=positive['batch-size'], repeats=positive['repeats'],
        plain_repeats=positive['plain-repeats'], image_tokens=image,
        threads=torch.get_num_threads() if card and options.threads is None
        else positive['threads'])


def _check_room(shape: Shape, dtype: str, device: str) -> None:
    """Whether the weights fit.

    Raises:
        InputError: they do not.
    """
    import torch
    needed = shape.weights * getattr(torch, dtype).itemsize
    if device.startswith('cuda'):
        free: int | None = torch.cuda.mem_get_info(device)[0]
    else:
        try:
            found = re.search(r'^MemAvailable:\s+(\d+) kB$',
                              Path('/proc/meminfo').read_text(), re.M)
        except OSError:
            found = None
        free = 1024 * int(found[1]) if found else None
    if free is not None and needed > free:
        raise InputError(f'the weights need {needed / 2 ** 30:.1f} GiB in {dtype}, {device} has '
                         f'{free / 2 ** 30:.1f} GiB free; choose a smaller --config of '
                         f'{", ".join(SHAPES)}')


def run(options: Options) -> dict[str, Any]:
    """Measure; the result is described in ``studies/performance.md``.

    Raises:
        InputError: bad options, no such device, or the weights do not fit.
    """
    import torch

    from sightplan.records.provenance import provenance
    from sightplan_bench import models
    options = settle(options)
    assert options.config and options.dtype and options.image_tokens
    assert options.repeats and options.batch_size and options.threads
    shape, device, dtype = SHAPES[options.config], options.device, options.dtype
    torch.set_num_threads(options.threads)
    _check_room(shape, dtype, device)
    meter = Meter(device, options.threads)
    grid = Grid.near(options.image_tokens)
    _say(f'{options.config} on {device}, {dtype}: {shape.weights / 1e9:.2f} billion weights')
    model = models.make_model(shape, device, dtype, options.attention, options.seed)
    rows = 4096 if device.startswith('cuda') else 1024
    rates = measure_rates(shape, rows, device, dtype, meter)
    _say(f'{rates["flops_per_s"] / 1e12:.3g} TFLOP/s, {rates["bytes_per_s"] / 1e9:.4g} GB/s')
    meter.free()
    whole = models.make_scene(
        shape, grid, _suffixes(shape, options), shared_tokens=options.shared_tokens,
        device=device, dtype=dtype, seed=options.seed)
    engine = models.make_engine(model, whole, options.mechanism, options.memory_gb)
    _say(f'mechanism {engine.mechanism}{f" ({engine.reason})" if engine.reason else ""}')
    results = []
    for number in options.questions:
        scene = whole.first(number)
        phases = work(shape, grid, len(scene.prefix), scene.suffixes,
                      getattr(torch, dtype).itemsize)
        row: dict[str, Any] = {
            'questions': number, 'suffix_tokens': sum(map(len, scene.suffixes)),
            'distinct_suffix_tokens': len(depths(scene.suffixes)),
            'floor': floor(phases, Rates(rates['flops_per_s'], rates['bytes_per_s']))}
        _say(f'{number} questions, ours')
        row |= _shared_row(engine, scene, options, meter)
        answers, moved = row.pop('answers'), row.pop('moved')
        row['shared_over_floor'] = _ratio(row['shared'], row['floor'])
        if not options.skip_plain:
            _say(f'{number} questions, the plain way')
            row |= _plain_row(model, scene, options, meter, answers, moved)
            row['plain_over_shared'] = _ratio(row['plain'], row['shared'])
        results.append(row)
        _say(json.dumps({key: row.get(key) for key in (
            'questions', 'plain_over_shared', 'shared_over_floor')}))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    found = provenance()
    return {
        'bench': 'grounding', 'date': datetime.datetime.now(datetime.UTC).date().isoformat(),
        'device': describe_device(device), 'threads': options.threads,
        'versions': {'torch': torch.__version__,
                     'transformers': found['packages'].get('transformers'),
                     'python': found['python'], 'sightplan': found['sightplan']},
        'commit': found['commit'], 'dirty': found['dirty'],
        'config': options.config, 'shape': shape.as_dict(), 'weights': 'random',
        'wording': options.wording,
        'parameters': parameters, 'dtype': dtype, 'attention': options.attention,
        'weights_mib': round(parameters * getattr(torch, dtype).itemsize / _MIB, 1),
        'mechanism': engine.mechanism, 'mechanism_asked': options.mechanism,
        'mechanism_reason': engine.reason, 'memory_gb': options.memory_gb,
        'plain': 'generate, 1 new token, left padding, the image in every prompt',
        'clock': meter.clock, 'seed': options.seed, 'repeats': options.repeats,
        'plain_repeats': None if options.skip_plain else options.plain_repeats,
        'tokens': {'prefix': len(whole.prefix), 'image': grid.tokens,
                   'patches': whole.pixels.shape[0]},
        'rates': rates, 'results': results}


def _suffixes(shape: Shape, options: Options) -> tuple[tuple[int, ...], ...]:
    """The questions; four at least, for the engine's self-test.

    Raises:
        InputError: the domain is unknown, or no problem of it has so many questions.
    """
    from sightplan_bench import models
    number = max(*options.questions, 4)
    if options.wording == 'random':
        return models.random_suffixes(shape, number, options.question_tokens, options.seed)
    from sightplan.domains import load_domain
    domain = load_domain(options.wording)
    texts = [max(([domain.question(atom).text for atom in domain.model(problem).atoms]
                  for problem in domain.split_problems(split)), key=len)
             for split in domain.splits]
    most = max(texts, key=len)
    if number > len(most):
        raise InputError(f'--wording {options.wording}: the largest problem has {len(most)} '
                         f'questions; ask --questions {len(most)} at most')
    return models.worded_suffixes(shape, most[:number])


def _shared_row(engine: SharedPrefix, scene: Scene, options: Options,
                meter: Meter) -> dict[str, Any]:
    """Our part of a line of results, the answers, and those of moved questions."""
    from sightplan_bench import models
    assert options.repeats
    try:
        models.shared(engine, scene)  # warm-up
        found, answers = meter.measure(lambda: models.shared(engine, scene), options.repeats)
        moved = [] if options.skip_plain or engine.mechanism == 'plain' else [
            models.shared(engine, scene, by) for by in (1, -1)]
    except BackendError as error:
        return {'shared': {'error': str(error)}, 'answers': None, 'moved': []}
    return {'shared': found, 'answers': answers, 'moved': moved}


def _plain_row(model: Any, scene: Scene, options: Options, meter: Meter, ours: Any,
               moved: Sequence[Any]) -> dict[str, Any]:
    """The plain way's part of a line of results, and how it agrees with ours."""
    from sightplan_bench import models
    assert options.dtype and options.plain_repeats and options.batch_size
    size = min(options.batch_size, len(scene.suffixes))
    if meter.clock == 'wall':  # on the CPU nothing needs warming
        _unless_out_of_memory(lambda: models.plain(model, scene.first(size), size))
        meter.free()
    found, answers = measure_plain(lambda size: models.plain(model, scene, size), size,
                                   options.plain_repeats, meter)
    if answers is None or ours is None:
        return {'plain': found}
    return {'plain': found, 'agreement': compare(ours, answers, options.dtype, moved)}


def _ratio(above: dict[str, Any], below: dict[str, Any]) -> float | None:
    """Quotient of two times; None where one was not measured."""
    if 'ms' not in above or 'ms' not in below:
        return None
    return round(float(above['ms']) / max(float(below['ms']), 1e-9), 3)


def failures(result: dict[str, Any]) -> list[str]:
    """Errors of a result, in words; empty if it may be used."""
    found = []
    for row in result['results']:
        if 'error' in row['shared']:
            found.append(f'{row["questions"]} questions: ours: {row["shared"]["error"]}')
        if 'plain' in row and 'ms' not in row['plain']:
            found.append(f'{row["questions"]} questions: the plain way ran out of memory')
        elif 'agreement' in row and not row['agreement']['same']:
            found.append(f'{row["questions"]} questions: ours and the plain way differ by '
                         f'{row["agreement"]["max_difference"]} (tolerance '
                         f'{row["agreement"]["tolerance"]}, spread {row["agreement"]["spread"]}; '
                         f'root mean square {row["agreement"]["rms_difference"]}, moved by one '
                         f'{row["agreement"]["moved_difference"]})')
    return found


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench grounding``."""
    add_command(
        subparsers, 'grounding', measure, 'large vision-language models: many questions about one '
        'image, on a GPU or CPU, against the plain way and the floor', _ABOUT, settings=Arguments,
        examples=_EXAMPLES,
        exits='0 done; 1 ours and the plain way disagree, or ran out of memory; 2 bad usage')


def served(arguments: Arguments) -> dict[str, Any]:
    """Measure a model by the ways it is asked."""
    from sightplan_bench import grounding_served
    assert arguments.model
    return grounding_served.run(
        arguments.model, max(arguments.questions), arguments.repeats or 5, arguments.seed,
        arguments.threads or 1, arguments.server or '', arguments.server_model or '')


def measure(arguments: Arguments) -> Result:
    """Measure, and write the result."""
    if arguments.out is not None and not Path(arguments.out).absolute().parent.is_dir():
        raise InputError(f'--out {arguments.out}: there is no such folder')
    if arguments.server and not arguments.model:
        raise InputError('--server: is measured beside a model; name its folder with --model')
    try:
        result = served(arguments) if arguments.model else run(picked(Options, arguments))
    except ImportError as error:
        raise InfrastructureError(f'needs scipy, torch and transformers ({error}); run "make '
                                  'build", or pip install scipy torch transformers') from error
    except BackendError as error:
        raise InputError(str(error)) from error
    if arguments.out is not None:
        Path(arguments.out).write_text(json.dumps(
            result, indent=None if json_wanted() else 2, allow_nan=False) + '\n')
    wrong = [] if arguments.model else failures(result)
    for line in wrong:
        note(f'sightplan bench grounding: {line}')
    return shown(result, not wrong)


def _command(argv: Sequence[str]) -> int:
    """Run the command without the rest of sightplan."""
    parser = CommandParser(prog='sightplan bench')
    add_parser(parser.add_subparsers())
    arguments = parser.parse_args(['grounding', *argv])
    code: int = arguments.main(arguments)
    return code


if __name__ == '__main__':
    sys.exit(_command(sys.argv[1:]))
