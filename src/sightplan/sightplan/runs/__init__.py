"""The run core: what a run consists of, and how it is walked."""

from sightplan.metrics.measures import Measure
from sightplan.model.sample import Picture, Sample
from sightplan.runs.driver import Walked, walk
from sightplan.runs.episodes import (
    EpisodePlan,
    EpisodeRunner,
    episode_scorer,
    make_planner,
    scored_by,
    select_problems,
)
from sightplan.runs.identity import identity, problems_sha256, session
from sightplan.runs.question_table import PictureQuestion, read_questions
from sightplan.runs.refusals import MOST_REFUSALS, Refusals
from sightplan.runs.rules import suite_of
from sightplan.runs.run import (
    OpenRun,
    default_out,
    make_work,
    ordered,
    run,
    specify,
    write_summary,
)
from sightplan.runs.settings import (
    ALL_SPLITS,
    RunSettings,
    answering_prompt,
    asks_for_reasons,
    resolved_backend_options,
)
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite, suite_for, suite_names, suite_reference
from sightplan.runs.suite_folder import FolderSuite, read_suite
from sightplan.runs.suite_parts import SamplePage, Samples, Scored, Unread, read_yes_no
from sightplan.runs.suite_rules import ProtocolEntry
from sightplan.runs.summary import (
    canonical_summary,
    measures_of,
    replies_read,
    suite_of_run,
    summarise,
    why_unscored,
    why_useless,
)
from sightplan.runs.work import Item, Line, Plan, Progress, Runner, Work
from sightplan.runs.worlds import make_world, world_identity, world_names

__all__ = [
    'ALL_SPLITS', 'EpisodePlan', 'EpisodeRunner', 'FolderSuite', 'Item', 'Line', 'MOST_REFUSALS',
    'Measure', 'OpenRun', 'Picture', 'PictureQuestion', 'Plan', 'Progress', 'ProtocolEntry',
    'Refusals', 'RunSettings', 'Runner', 'Sample', 'SamplePage', 'Samples', 'Scored', 'Suite',
    'Unread', 'Walked', 'Work', 'answering_prompt', 'asks_for_reasons', 'canonical_summary',
    'default_out', 'episode_scorer', 'identity', 'load_suite', 'make_planner', 'make_work',
    'make_world', 'measures_of', 'ordered', 'problems_sha256', 'read_questions', 'read_suite',
    'read_yes_no', 'replies_read', 'resolved_backend_options', 'run', 'scored_by',
    'select_problems', 'session', 'specify', 'suite_for', 'suite_names', 'suite_of',
    'suite_of_run', 'suite_reference', 'summarise', 'walk', 'why_unscored', 'why_useless',
    'world_identity', 'world_names', 'write_summary',
]
