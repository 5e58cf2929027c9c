"""Labels by hand: what people saw in recorded pictures, its file, and the page that asks them."""

from sightplan_report.labelling.labels import (
    Agreement,
    Label,
    LabelFile,
    Labels,
    LabelValue,
    read_labels,
)

__all__ = ['Agreement', 'Label', 'LabelFile', 'LabelValue', 'Labels', 'read_labels']
