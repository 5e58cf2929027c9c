"""The kinds of queries, one module each: what is asked, the reply, and how a reply is read."""

from sightplan.model.answer import Answer
from sightplan.queries.check import Check
from sightplan.queries.choose import ChoiceReply, Choose
from sightplan.queries.detect import Detect, Detection, DetectReply
from sightplan.queries.exists import Exists
from sightplan.queries.generate import Generate, TextReply
from sightplan.queries.instances import DetectInstances
from sightplan.queries.locate import Locate, LocateReply
from sightplan.queries.propose import Propose
from sightplan.queries.yes_no import YesNo, answered, yes_no_queries

__all__ = ['Answer', 'Check', 'ChoiceReply', 'Choose', 'Detect', 'DetectInstances', 'DetectReply',
           'Detection', 'Exists', 'Generate', 'Locate', 'LocateReply', 'Propose', 'TextReply',
           'YesNo', 'answered', 'yes_no_queries']
