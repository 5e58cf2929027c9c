"""Domains, one folder each: problems, ground models, questions, goal wording and prompts.

PDDL is read by a small reader of our own (line numbers, milliseconds, no start-up time);
unified-planning, which plans and validates, must agree with it: the contract tests compare.
"""

from sightplan.domains.domain import (
    Domain,
    domain_names,
    domain_reference,
    find_problem,
    load_domain,
    read_folder,
    write_folder,
)
from sightplan.domains.instantiation import InstantiatedModel
from sightplan.domains.object_list import read_objects
from sightplan.domains.prompts import Became, MemoryOf, PlanningPrompt
from sightplan.domains.symbolic_world import SymbolicWorld

__all__ = ['Became', 'Domain', 'InstantiatedModel', 'MemoryOf', 'PlanningPrompt',
           'SymbolicWorld', 'domain_names', 'domain_reference', 'find_problem', 'load_domain',
           'read_folder', 'read_objects', 'write_folder']
