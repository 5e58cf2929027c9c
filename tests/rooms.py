"""Who may import what: the import table of the design, and its checker."""

from __future__ import annotations

import ast
import functools
import graphlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STDLIB = frozenset(sys.stdlib_module_names) | {'compression'}  # new in Python 3.14

_THOUGHT = ('model', 'queries', 'domains', 'vlm', 'grounding', 'planning', 'agent')
_RUNS = (*_THOUGHT, 'metrics', 'records', 'runs')

ROOMS_OF_THE_CORE = {
    # room of sightplan: the rooms it may import besides itself. Arrows point down only, so that
    # no room imports one that imports it.
    'model': (),
    'domains': ('model',),
    'queries': ('model',),
    'vlm': ('model', 'queries'),
    'grounding': ('model', 'queries', 'domains', 'vlm'),
    'planning': ('model', 'queries', 'domains', 'vlm'),
    'agent': ('model', 'queries', 'domains', 'grounding', 'planning'),
    'metrics': ('model', 'domains'),
    'records': ('model', 'queries', 'domains', 'grounding', 'metrics'),
    'console': ('model', 'metrics'),
    'runs': (*_THOUGHT, 'metrics', 'records'),
    'sweeps': (*_RUNS, 'graphs'),
    'replay': _RUNS,
    'graphs': ('model', 'domains', 'agent'),
    'commands': (*_RUNS, 'console', 'sweeps', 'replay', 'graphs'),
    'cli': ('commands',),
    '__main__': ('cli',),
}
"""Every room; ``cli`` is the one module that is in none."""

_PLAIN = ('numpy', 'yaml', 'pydantic')

LIBRARIES_OF_THE_CORE = {
    # room: third-party libraries of any of its modules; heavy ones are listed per module below.
    'model': ('numpy',),
    'domains': _PLAIN,
    'queries': _PLAIN,
    'vlm': _PLAIN,
    'grounding': (*_PLAIN, 'scipy'),
    'planning': (),
    'agent': ('numpy',),
    'metrics': ('numpy', 'scipy'),
    'records': _PLAIN,
    'runs': _PLAIN,
    'sweeps': _PLAIN,
    'replay': _PLAIN,
    'graphs': ('pydantic',),
    'console': ('rich',),
    'commands': _PLAIN,
    'cli': (),
    '__main__': (),
}

EXCEPTIONS = {
    # module: what it alone of its room or package may import as well.
    'sightplan.model.reading': ('pydantic', 'yaml'),
    'sightplan.model.yaml_text': ('yaml',),
    'sightplan_arm.command': ('sightplan.commands', 'sightplan.console', 'sightplan.graphs'),
}

HEAVY = {
    # library: the only places (a room, a module or a package) that may import it.
    'torch': ('sightplan_models', 'sightplan_bench'),
    'transformers': ('sightplan_models', 'sightplan_bench'),
    'torchvision': ('sightplan_models',),
    'tokenizers': ('sightplan_models',),
    'safetensors': ('sightplan_models',),
    'openai': ('sightplan_models',),
    'fastapi': ('sightplan_models',),
    'uvicorn': ('sightplan_models',),
    'PIL': ('sightplan.model.picture_files', 'sightplan.queries.marks', 'sightplan.vlm',
            'sightplan_models', 'sightplan.records', 'sightplan_report',
            'sightplan_suites.point_it_out', 'sightplan_suites.grounded_plan',
            'sightplan_suites.ivispar.drawing',
            'sightplan.domains.sliding', 'sightplan_arm.camera_files'),
    'unified_planning': ('sightplan.domains', 'sightplan.planning'),
    'up_fast_downward': ('sightplan.planning',),
    'fast_downward': ('sightplan.planning',),
    'driver': ('sightplan.planning',),
    'backports': ('sightplan.records',),  # backports.zstd
    'lz4': ('sightplan.records',),
    'ortools': ('sightplan_belief',),
    'clingo': ('sightplan_belief',),
    'matplotlib': ('sightplan_report', 'sightplan_suites.paths.picture'),
    'jinja2': ('sightplan_report',),
    'pyarrow': ('sightplan_report',),
    'ray': ('sightplan.sweeps',),
    'rerun': ('sightplan_report',),
    'rosbags': ('sightplan.records', 'sightplan_nodes'),
    'pybullet': ('sightplan_sim',),
    'pybullet_data': ('sightplan_sim',),
    'cv2': ('sightplan_sim', 'sightplan_arm', 'sightplan_belief.pointing',
            'sightplan_suites.paths', 'sightplan_report', 'sightplan_suites.point_it_out'),
    'ompl': ('sightplan_suites.paths',),
    'pinocchio': ('sightplan_arm',),
    'coal': ('sightplan_arm',),  # collision distances, part of Pinocchio
}
"""A library listed here is allowed there, whatever the room's list says, and nowhere else."""

_CORE = tuple(f'sightplan.{room}' for room in ROOMS_OF_THE_CORE
              if room not in ('sweeps', 'graphs', 'cli', '__main__'))

PACKAGES = {
    # package: (what it may import of ours, besides itself; third-party libraries)
    'sightplan': ((), ()),  # its rooms have the tables above
    'sightplan_models': (
        ('sightplan.model', 'sightplan.queries', 'sightplan.domains', 'sightplan.vlm',
         'sightplan.commands', 'sightplan.planning'),  # a simulated planner plans
        (*_PLAIN, 'scipy')),
    'sightplan_belief': (_CORE, (*_PLAIN, 'scipy')),
    'sightplan_report': (_CORE, _PLAIN),
    'sightplan_suites': (
        (*_CORE, 'sightplan_belief', 'sightplan_report'), (*_PLAIN, 'scipy', 'shapely')),
    'sightplan_arm': (
        ('sightplan.model', 'sightplan.domains'), ('numpy', 'pydantic', 'scipy', 'yaml')),
    'sightplan_sim': (
        ('sightplan.model', 'sightplan.domains', 'sightplan_suites.paths', 'sightplan_arm'),
        ('numpy', 'yaml')),
    'sightplan_nodes': (
        ('sightplan', 'sightplan_models', 'sightplan_belief', 'sightplan_suites',
         'sightplan_report', 'sightplan_arm', 'sightplan_sim',
         'sightplan_interfaces'),
        ('numpy', 'yaml', 'rclpy', 'action_msgs', 'builtin_interfaces', 'lifecycle_msgs',
         'control_msgs', 'controller_manager_msgs', 'diagnostic_msgs', 'rcl_interfaces',
         'rosgraph_msgs',
         'sensor_msgs', 'std_msgs', 'std_srvs',
         'geometry_msgs', 'nav_msgs', 'tf2_msgs', 'trajectory_msgs', 'vision_msgs',
         'visualization_msgs',
         'unique_identifier_msgs', 'rosidl_runtime_py', 'ament_index_python'),
    ),
    'sightplan_bench': (
        ('sightplan', 'sightplan_models', 'sightplan_belief', 'sightplan_suites',
         'sightplan_report', 'sightplan_arm', 'sightplan_sim', 'sightplan_nodes',
         'sightplan_interfaces'),
        ('numpy', 'yaml', 'hypothesis', 'rclpy', 'action_msgs', 'builtin_interfaces',
         'lifecycle_msgs', 'control_msgs', 'rcl_interfaces', 'rosgraph_msgs', 'sensor_msgs',
         'std_msgs', 'std_srvs',
         'geometry_msgs', 'nav_msgs', 'trajectory_msgs', 'visualization_msgs',
         'unique_identifier_msgs', 'rosidl_runtime_py', 'ament_index_python'),
    ),
}


@dataclass(frozen=True)
class Import:
    """One import statement.

    Attributes:
        importer: dotted name of the importing module.
        target: dotted name of what is imported, names of ``from x import name`` included.
        file: the file.
        line: 1-based line.
    """

    importer: str
    target: str
    file: Path
    line: int

    def __str__(self) -> str:
        return f'{self.file}:{self.line}: {self.importer} imports {self.target}'


def module_name(file: Path, folder: Path) -> str:
    """Dotted name of a file in a folder of packages."""
    parts = file.relative_to(folder).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


@functools.cache
def imports_of(file: Path, folder: Path) -> tuple[Import, ...]:
    """Every import of a file: at its top, in functions, under conditions, by literal name."""
    return tuple(_imports_of(file, folder))


def _imports_of(file: Path, folder: Path) -> Iterator[Import]:
    module = module_name(file, folder)
    package = module if file.name == '__init__.py' else module.rpartition('.')[0]
    for node in ast.walk(ast.parse(file.read_text(), str(file))):
        targets: list[str] = []
        match node:
            case ast.Import(names=names):
                targets = [alias.name for alias in names]
            case ast.ImportFrom(module=source, names=names, level=level):
                base = source or ''
                if level:
                    above = package.split('.')[:len(package.split('.')) - level + 1]
                    base = '.'.join([*above, *([source] if source else [])])
                targets = [f'{base}.{alias.name}' for alias in names]
            case ast.Call(func=function, args=[ast.Constant(value=str() as name), *_]) \
                    if _imports(function):
                targets = [name]
            case ast.Call(func=function, args=[ast.JoinedStr(values=[
                    ast.Constant(value=str() as name), *_]), *_]) if _imports(function):
                targets = [name.rstrip('.')]
        yield from (Import(module, target, file, node.lineno) for target in targets)


def _imports(function: ast.expr) -> bool:
    """Whether a function imports a module by its name."""
    match function:
        case (ast.Name(id='import_module' | '__import__')
              | ast.Attribute(value=ast.Name(id='importlib'), attr='import_module')):
            return True
    return False


def _within(name: str, place: str) -> bool:
    return name == place or name.startswith(f'{place}.')


def allowed(item: Import) -> bool:
    """Whether the table allows an import."""
    package, _, rest = item.importer.partition('.')
    room = rest.partition('.')[0]
    top = item.target.partition('.')[0]
    excepted = EXCEPTIONS.get(item.importer, ())
    if top in STDLIB or item.target in ('sightplan', 'sightplan.__version__') or any(
            _within(item.target, place) for place in excepted):
        return True
    if top in HEAVY:
        return any(_within(item.importer, place) for place in HEAVY[top])
    ours, libraries = PACKAGES[package]
    if top == package == 'sightplan':
        target_room = [*item.target.split('.'), ''][1]
        return (target_room in (room, '', '__version__')
                or target_room in ROOMS_OF_THE_CORE.get(room, ()))
    if top == package or any(_within(item.target, place) for place in ours):
        return True
    if package == 'sightplan':
        libraries = LIBRARIES_OF_THE_CORE.get(room, ())
    return top in libraries


def violations(src: Path) -> list[Import]:
    """All imports under ``src/`` that the table does not allow."""
    return [item
            for package in PACKAGES
            for file in sorted((src / package / package).rglob('*.py'))
            for item in imports_of(file, src / package)
            if not allowed(item)]


def arrows(src: Path) -> dict[str, set[str]]:
    """The rooms and packages that each room or package imports, itself left out.

    A room of the core is named ``sightplan.ROOM``, any other package by its name.
    """
    def place(name: str) -> str:
        package, _, rest = name.partition('.')
        room = rest.partition('.')[0]
        return f'sightplan.{room}' if package == 'sightplan' and room else package

    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for file in sorted((src / package / package).rglob('*.py')):
            for item in imports_of(file, src / package):
                source, target = place(item.importer), place(item.target)
                if target.partition('.')[0] in PACKAGES and source != target != 'sightplan':
                    found.setdefault(source, set()).add(target)
    return found


def file_arrows(src: Path) -> dict[str, set[str]]:
    """The modules that each module imports anywhere in it: in functions and for types, too.

    A name that is taken out of a package is an arrow to the package's ``__init__``, unless it is
    a module of its own.
    """
    files = {module_name(file, src / package): (file, src / package) for package in PACKAGES
             for file in sorted((src / package / package).rglob('*.py'))}

    def module_of(target: str) -> str:
        return target if target in files else target.rpartition('.')[0]

    return {name: {module_of(item.target) for item in imports_of(*where)} & {*files} - {name}
            for name, where in files.items()}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Names that import each other in a circle, the first repeated at the end; [] without one."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []
