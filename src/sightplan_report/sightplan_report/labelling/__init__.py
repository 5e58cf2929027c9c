"""Labels by hand: judgements of recorded pictures, their file, and the page that asks for them."""

from sightplan_report.labelling.labels import (
    Agreement,
    Label,
    LabelFile,
    Labels,
    LabelValue,
    read_labels,
)

__all__ = ['Agreement', 'Label', 'LabelFile', 'LabelValue', 'Labels', 'read_labels']
