"""The table "Measures of the structure": each figure counted by code from a checkout.

``python studies/structure.py [--root DIR] [--names]`` prints Markdown; ``--names`` also lists what
was counted. It reads sources only (nothing is imported), and works on checkouts with other
packages and names, too.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

CAPABILITIES = (
    'accepts', 'answers', 'answers_texts', 'carry_over', 'check', 'check_pictures',
    'chooser_model', 'chooses', 'counts_usage', 'detector_model', 'detects', 'generates',
    'generates_texts', 'instruction_prompt', 'locates', 'locator_model', 'made_for',
    'needs_pixels', 'needs_truth', 'no_pictures', 'reads_goal', 'reads_instruction',
    'reads_prompt', 'sees_pictures', 'start_episode', 'suite_prompt', 'tell_apart',
    'tells_apart')
"""Capabilities of models, grounders, methods and worlds that ``getattr`` was used to find."""
EVENTS = (
    'EpisodeStarted', 'Observed', 'Asked', 'ToldApart', 'InstancesDetected', 'BeliefUpdated',
    'Believed', 'Planned', 'Proposed', 'Stepped', 'Acted', 'GoalAdopted', 'ProblemAdopted',
    'ModelKnown', 'EpisodeEnded', 'Ended')
"""Events of an episode by the names that they have had."""
KINDS = {
    'yes/no': r'YesNo(Request|Reply|Query)?|yes_no\w*',
    'text': r'TextRequest|TextReply|Generate(d|Query)?|generates?',
    'locate': r'Locat(e|or|es|ed)(Request|Reply|Query)?|locat(e|es|or|ors)(_\w+)?|can_locate'
              r'|BackendLocator',
    'check': r'CheckRequest|CheckReply|Check|PlaceChecker',
    'detect': r'Detect(Request|Reply|or|ion|ions)?|detects?|detector(_\w+)?|can_detect'
              r'|tells?_apart|ToldApart|TellApart',
    'choose': r'Cho(ice|ose)(Request|Reply|Query)|Choose|Chooser|chooses|chooser(_\w+)?'}
"""Identifiers that show that a file deals with a kind of query."""
OWN_MODULES = {
    'yes/no': r'(queries/yes_?no)\.py$',
    'text': r'(queries/(generate|text))\.py$',
    'locate': r'(queries/locate|vlm/locating|vlm/pointing\w*)\.py$',
    'check': r'queries/check\.py$',
    'detect': r'(queries/detect|vlm/detecting\w*)\.py$',
    'choose': r'(queries/choose|vlm/choosing)\.py$'}
"""Modules of one kind of query, which do not count."""
FORMS = ('Answer', 'YesNoReply', 'Judged', 'JudgedAnswer', 'AskedAbout', 'AnswerRow')
"""Forms that the answer to a yes/no question passes through, by the names that they have had: the
model's reply, the same with its truth, and a row of a report."""


class File:
    """One source file, parsed once."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path, self.name = path, str(path.relative_to(root))
        self.text = path.read_text()
        self.package = self.name.split('/')[1]
        inside = path.relative_to(root / 'src' / self.package)
        self.module = '.'.join(inside.with_suffix('').parts)
        self.module = self.module.removesuffix('.__init__')

    @cached_property
    def tree(self) -> ast.Module:
        """Syntax tree of the file."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def identifiers(self) -> set[str]:
        """Names, attributes, arguments, and whole texts that are identifiers."""
        found = set()
        for node in self.nodes:
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                    found.add(name.rpartition('.')[2])
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.Constant(value=str(text)) if text.isidentifier():
                    found.add(text)
        return found


class House:
    """The sources of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tests: list[Path] = []
        self.sources: list[Path] = []
        for path in sorted((root / 'src').glob('*/*/**/*.py')):
            test = path.relative_to(root).parts[2] == 'test'
            (self.tests if test else self.sources).append(path)
        self.tests += sorted((root / 'tests').rglob('*.py'))
        self.files = [File(root, path) for path in self.sources]
        self.plain = [one for one in self.files if one.package != 'sightplan_bench']

    def circles(self, everywhere: bool = False) -> list[list[str]]:
        """Sets of files that import each other.

        Args:
            everywhere: count imports in functions and for types, too, not only those that are
                made when a file is loaded.
        """
        modules = {one.module: one for one in self.files}
        arrows = {one.module: set(imported(one, modules, everywhere)) - {one.module}
                  for one in self.files}
        return [sorted(part) for part in components(arrows) if len(part) > 1]

    def getattrs(self) -> list[str]:
        """Places that ask for a capability by a literal name."""
        left_out = ('sightplan_arm', 'sightplan_sim')
        return [f'{one.name}:{node.lineno} {name}' for one in self.plain
                if one.package not in left_out
                for node in one.nodes
                for name in [literal_of(node)]
                if name in CAPABILITIES and isinstance(node, ast.Call)]

    def walkers(self) -> list[str]:
        """Files that tell at least two classes of events apart, by ``isinstance`` or ``match``."""
        return [f'{one.name} ({len(found)})' for one in self.plain
                if len(found := told_apart(one)) > 1]

    def method_registries(self) -> list[str]:
        """Groups of entry points of methods."""
        return sorted(f'agent/{name}/' for name in ('methods', 'answerers')
                      if list(self.root.glob(f'src/*/*/agent/{name}/[a-z]*.py')))

    def contexts(self) -> list[str]:
        """Protocols of what methods work with."""
        return [f'{one.name} {node.name}' for one in self.plain for node in one.nodes
                if isinstance(node, ast.ClassDef) and node.name in ('Context', 'Desk', 'Tools')
                and '/agent/' in one.name]

    def forms(self) -> list[str]:
        """Classes and type names that are forms of the answer to a yes/no question."""
        return [f'{one.name}: {name}' for one in self.files for node in one.nodes
                for name in FORMS if (isinstance(node, ast.ClassDef) and node.name == name)
                or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
                    and getattr(node.value.value, 'id', '') == 'dict'
                    and getattr(node.targets[0], 'id', '') == name)]

    def holders(self) -> list[str]:
        """Classes with a field ``p_yes``, or one that is an ``Answer``."""
        return [f'{one.name}: {node.name}' for one in self.files for node in one.nodes
                if isinstance(node, ast.ClassDef) and any(
                    isinstance(part, ast.AnnAssign) and (
                        getattr(part.target, 'id', '') == 'p_yes'
                        or ast.unparse(part.annotation) in ('Answer', 'Answer | None'))
                    for part in node.body)]

    def works(self) -> list[str]:
        """Classes that make the items of runs."""
        return [f'{one.name} {node.name}' for one in self.plain for node in one.nodes
                if isinstance(node, ast.ClassDef) and node.name.endswith('Work')
                and '/runs/' in one.name
                and 'Protocol' not in [getattr(base, 'id', '') for base in node.bases]
                and 'make' in [getattr(part, 'name', '') for part in node.body]]

    def settings(self) -> list[tuple[str, str]]:
        """All settings: class with its file, and name of the field."""
        return [(f'{one.name} {node.name}', part.target.id)
                for one in self.files for node in one.nodes if isinstance(node, ast.ClassDef)
                for part in node.body if isinstance(part, ast.AnnAssign)
                and isinstance(part.target, ast.Name) and isinstance(part.value, ast.Call)
                and getattr(part.value.func, 'id', '') == 'param']

    def unnamed(self) -> list[str]:
        """Settings whose name stands as code on no page: docs and READMEs."""
        pages = [page.read_text() for form in ('docs/**/*.md', 'README*.md', 'src/**/README*.md')
                 for page in self.root.glob(form) if '/test/' not in str(page)]
        code = [part for page in pages for part in re.findall(r'```.*?```|`[^`\n]+`', page, re.S)]
        words = {word for part in code for word in re.findall(r'[A-Za-z]\w*(?:-\w+)*', part)}
        words |= {word.replace('-', '_') for word in words}
        return [f'{where} {name}' for where, name in self.settings() if name not in words]

    def dependencies(self) -> list[str]:
        """Libraries that the core's wheel requires besides setuptools."""
        tree = ast.parse((self.root / 'src/sightplan/setup.py').read_text())
        names = next(node.value for node in ast.walk(tree)
                     if isinstance(node, ast.keyword) and node.arg == 'install_requires')
        return [name for name in ast.literal_eval(names) if name != 'setuptools']

    def naming(self, kind: str) -> list[str]:
        """Source files that name a kind of query, but for its own modules."""
        wanted = re.compile(KINDS[kind])
        return [one.name for one in self.plain if not re.search(OWN_MODULES[kind], one.name)
                and any(wanted.fullmatch(name) for name in one.identifiers)]

    def add_arguments(self) -> list[str]:
        """Places where ``add_argument`` is called."""
        return [f'{one.name}:{node.lineno}' for one in self.files for node in one.nodes
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                and node.func.attr == 'add_argument']

    def interfaces(self) -> list[str]:
        """Messages, services and actions."""
        return sorted(str(p.relative_to(self.root)) for kind in ('msg', 'srv', 'action')
                      for p in self.root.glob(f'src/*_interfaces/{kind}/*.{kind}'))


def lines(paths: list[Path]) -> int:
    """Lines of all kinds."""
    return sum(path.read_text().count('\n') for path in paths)


def literal_of(node: ast.AST) -> str | None:
    """The name that ``getattr`` or ``hasattr`` asks for, where it is written out."""
    if (isinstance(node, ast.Call) and getattr(node.func, 'id', '') in ('getattr', 'hasattr')
            and len(node.args) > 1 and isinstance(node.args[1], ast.Constant)):
        return str(node.args[1].value)
    return None


def told_apart(one: File) -> set[str]:
    """Classes of events that a file tells apart."""
    found: set[str] = set()
    for node in one.nodes:
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'isinstance':
            parts = ast.walk(node.args[-1])
        elif isinstance(node, ast.MatchClass):
            parts = ast.walk(node.cls)
        elif isinstance(node, ast.Dict):  # a table of what to do, by class
            parts = iter([key for key in node.keys if key is not None])
        else:
            continue
        for part in parts:
            name = part.id if isinstance(part, ast.Name) else getattr(part, 'attr', '')
            found |= {name} & set(EVENTS)
    return found


def imported(one: File, modules: dict[str, File], everywhere: bool) -> Iterator[str]:
    """Modules of the house that a file imports when it is loaded, or anywhere in it."""
    def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for node in body:
            yield node
            if isinstance(node, ast.If) and 'TYPE_CHECKING' not in ast.unparse(node.test):
                yield from statements(node.body + node.orelse)
            elif isinstance(node, ast.Try):
                yield from statements(node.body + node.orelse + node.finalbody)
            elif isinstance(node, ast.ClassDef):
                yield from statements(node.body)
    for node in one.nodes if everywhere else statements(one.tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            inside = [f'{node.module}.{alias.name}' for alias in node.names]
            yield from (name for name in inside if name in modules)
            if node.module in modules and any(name not in modules for name in inside):
                yield node.module


def components(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components (Tarjan), without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for start in arrows:
        if start in index:
            continue
        work = [(start, iter(sorted(arrows[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node)
                    found.append(stack[cut:])
                    del stack[cut:]
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                work.append((following, iter(sorted(arrows.get(following, ())))))
            elif following in stack:
                low[node] = min(low[node], index[following])
    return found


def main() -> None:
    """Print the table of measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--root', type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument('--names', action='store_true', help='list what was counted')
    arguments = parser.parse_args()
    house = House(arguments.root)
    flags = house.getattrs()
    by_package: defaultdict[str, int] = defaultdict(int)
    for path in house.sources:
        by_package[path.relative_to(arguments.root).parts[1]] += lines([path])
    bench = by_package.get('sightplan_bench', 0)
    methods, contexts, works = house.method_registries(), house.contexts(), house.works()
    unnamed, circles, loops = house.unnamed(), house.circles(), house.circles(everywhere=True)
    naming = {kind: house.naming(kind) for kind in KINDS}
    rows: list[tuple[str, object, str, Sequence[object]]] = [
        ('import circles of files', len(loops), ('sets of files that import each other, anywhere '
         f'in them (in functions and for types, too); when loaded: {len(circles)}'), loops),
        ('capability getattrs',
         f'{len({one.split()[-1] for one in flags})} names in {len(flags)} calls',
         ('`getattr`/`hasattr` with the literal name of a capability (list in the script), '
         'everywhere but in arm, sim, bench'), flags),
        ('places that walk episode events', len(found := house.walkers()),
         ('files that tell two or more classes of events apart, by `isinstance`, `match` or a '
         'table'), found),
        ('registries, contexts, works', f'{len(methods)}, {len(contexts)}, {len(works)}',
         ('folders of methods in `agent/`; classes `Context`, `Desk`, `Tools` of `agent/`; '
         'classes `...Work` with `make` in `runs/`'), [*methods, *contexts, *works]),
        ('forms of the answer to a yes/no question', len(found := house.forms()),
         'classes and types with the names that such forms have had (list in the script)', found),
        ('classes that hold one', len(found := house.holders()),
         'classes with a field `p_yes`, or one of class `Answer`; records of files are among them',
         found),
        ('settings that no page names', f'{len(unnamed)} of {len(house.settings())}',
         'fields made by `param(...)` whose name stands in no code of docs/**/*.md or README*.md',
         unnamed),
        ('dependencies of the core', len(found := house.dependencies()),
         '`install_requires` of src/sightplan', found),
        ('lines of packages without sightplan_bench', f'{sum(by_package.values()) - bench:,}',
         'of .py files in src/*/ but tests and setup.py', sorted(by_package.items())),
        ('lines of tests', f'{lines(house.tests):,}', 'src/*/test and tests/', []),
        ('interface types', len(found := house.interfaces()), '.msg, .srv, .action files', found),
        ('`add_argument` calls', len(found := house.add_arguments()), 'with bench', found),
        *((f'source files that name "{kind}"', len(naming[kind]),
           ('without bench, tests, its own modules; by an identifier of the kind (list in the '
           'script)'), naming[kind]) for kind in KINDS)]
    print('| measure | figure | how it counts |\n|---|---|---|')
    for name, value, how, _ in rows:
        print(f'| {name} | {value} | {how} |')
    if arguments.names:
        for name, _, _, listed in rows:
            print(f'\n## {name}\n')
            for one in listed:
                print(f'- {one}')


if __name__ == '__main__':
    main()
