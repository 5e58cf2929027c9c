"""An answer to a yes/no question, and its fields in the line of a sample."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import Answer, Verdict

CHANCES = st.none() | st.floats(0.0, 1.0)
TEXTS = st.sampled_from(('', 'Yes', 'No.', 'Unknown: it is dark', 'perhaps')) | st.text()


@given(st.builds(
    Answer, TEXTS, CHANCES, CHANCES, CHANCES, st.booleans(), st.integers(0, 9),
    verdict=st.none() | st.sampled_from(Verdict), reason=st.sampled_from(('', 'it is hidden'))))
def test_a_line_has_all_of_an_answer(answer: Answer) -> None:
    line = json.loads(json.dumps({'reply': answer.text, **answer.to_line()}))
    assert Answer.of_line(line) == answer


def test_a_line_says_again_nothing_that_the_text_tells() -> None:
    assert Answer('Yes, I think', 0.9, 0.1).to_line() == {'p_yes': 0.9, 'p_no': 0.1}
    assert Answer('Yes', verdict=Verdict.NO, bounded=True).to_line() == {
        'p_yes': None, 'p_no': None, 'verdict': 'no', 'bounded': True}
