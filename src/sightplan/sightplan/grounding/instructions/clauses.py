"""Clauses of instructions: from words to acts and states, each with the phrases that it is about.

A text is read from left to right. A clause has a verb, objects, and phrases with prepositions; a
verb, or a noun after "and" or a comma, begins the next one. What only accompanies a request is
set aside: words that carry nothing (``idle`` in the lexicon) and remarks that name nothing on the
table. Any other word that has no part in a clause is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sightplan.grounding.instructions.phrases import (
    PENDING,
    Phrase,
    PhraseReader,
    UnreadError,
    after_words,
    but_words,
    related_words,
)
from sightplan.grounding.instructions.wishes import Relation, Things
from sightplan.grounding.instructions.words import (
    COLON,
    COMMA,
    ENDS,
    SENTENCE_END,
    Phrases,
    lexicon,
    noun_phrases,
)
from sightplan.queries.detect import MOVED

INTO, ONTO, TO, BESIDE, OFF = 'into', 'onto', 'to', 'beside', 'off'
"""Kinds of prepositions."""
_WEAK = ('in', 'on', 'inside', 'inside of', 'within', 'on top of', 'atop')
"""Prepositions that tell as often where something is as where it goes."""


_CONJUNCTIONS = (
    'because',
    'cause',
    'cuz',
    'coz',
    'bc',
    'since',
    'before',
    'until',
    'till',
    'so',
    'when',
    'while',
    'as',
    'in',
    'where',
    'or',
    'for',
    'otherwise',
    'to',
)
"""Words with which a remark may begin within a clause."""


@dataclass(slots=True)
class Clause:
    """A clause of an instruction.

    Attributes:
        verb: class of its verb in the lexicon; '' without one.
        objects: what it is about.
        placed: prepositions with their phrases, in the order of the text.
        but: what is left out.
        there: whether things go to a place named before ("in there", "inside").
        gone: words such as "away"; '' without.
        state: ``open`` or ``closed``; '' without.
        joined: the words between it and the clause before: '', ',', 'and', 'but' or '.'.
        negated: whether it says "not".
        says_is: whether it only says how something is.
        inherits: whether it says "too" or the like.
        given: kind of a condition that it is: ``if``, ``else``; '' if it is none.
        start, end: its words.
        relation_word: words of the last preposition that tells where beside something.
    """

    verb: str = ''
    objects: list[Phrase] = field(default_factory=list)
    placed: list[tuple[str, Relation | None, Phrase]] = field(default_factory=list)
    but: list[Phrase] = field(default_factory=list)
    there: bool = False
    gone: str = ''
    state: str = ''
    joined: str = ''
    negated: bool = False
    says_is: bool = False
    inherits: bool = False
    given: str = ''
    left_alone: bool = False
    start: int = 0
    end: int = 0
    hides: bool = False
    sentence: int = 0
    heads: bool = False
    topic: bool = False
    wanted: bool = False
    weak: list[bool] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether nothing stands in it yet."""
        return not (
            self.verb
            or self.objects
            or self.placed
            or self.state
            or self.there
            or self.gone
            or self.but
            or self.says_is
        )


@functools.cache
def _verbs() -> Phrases:
    names = [name for name in lexicon().verbs if name != 'touch']
    return Phrases((form, name) for name in names for form in lexicon().verbs[name])


@functools.cache
def _phrases(name: str) -> Phrases:
    return Phrases((phrase, name) for phrase in getattr(lexicon(), name))


@functools.cache
def _touch() -> Phrases:
    return Phrases((form, '') for form in lexicon().verbs['touch'])


@functools.cache
def _prepositions() -> Phrases:
    words = lexicon()
    return Phrases(
        (phrase, kind)
        for kind, phrases in (
            (INTO, words.into),
            (ONTO, words.onto),
            (TO, words.toward),
            (OFF, words.off),
        )
        for phrase in phrases
    )


class ClauseReader:
    """Reads the clauses of a text.

    Args:
        tokens: its normalised words.
        text: the text itself, for messages.
    """

    def __init__(self, tokens: Sequence[str], text: str) -> None:
        self._tokens, self._text = tuple(tokens), text
        self._phrases = PhraseReader(self._tokens)
        self._words = lexicon()
        self._at = self._sentence = 0
        self._clauses: list[Clause] = []
        self._clause = Clause()
        self._goal = False
        self._joint = SENTENCE_END  # what stands right before the position

    @property
    def states_goal(self) -> bool:
        """Whether a heading says that what follows is how things are to be, such as "Goal:"."""
        return self._goal

    def unread(self, why: str) -> UnreadError:
        """Return the error that the text cannot be read."""
        return UnreadError(f'cannot read {self._text!r}: {why}')

    def clauses(self) -> list[Clause]:
        """Return the clauses of the text.

        Raises:
            UnreadError: a word has no part in any clause; names it.
        """
        while self._at < len(self._tokens):
            self._step()
        self._flush(SENTENCE_END)
        return self._clauses

    # --- one step --------------------------------------------------------------------------------

    def _word(self, ahead: int = 0) -> str:
        return self._phrases.word(self._at + ahead)

    def _step(self) -> None:
        """Read what stands at the position."""
        word = self._word()
        if word == SENTENCE_END:
            self._flush(SENTENCE_END)
            self._sentence += 1
            self._at += 1
            return
        if word == COLON:
            self._clause.heads = True
            self._goal = self._goal or self._clause.empty
            self._flush(COMMA)
            self._at += 1
            return
        if word == COMMA:
            self._joint = self._joint or COMMA
            self._at += 1
            return
        for read in (
            self._longest_idle,
            self._speaker,
            self._modal,
            self._condition,
            self._left_alone,
            self._remark,
            self._context,
            self._so_that,
            self._inherits,
            self._negation,
            self._said_of_things,
            self._verb,
            self._except,
            self._gone_words,
            self._there_words,
            self._preposition,
            self._state,
            self._copula,
            self._noun,
            self._connective,
            self._idle,
        ):
            if read():
                return
        raise self._unknown()

    def _unknown(self) -> UnreadError:
        while (
            self._word()
            in (
                *self._words.articles,
                *self._words.colours,
                *self._words.numbers,
                *self._words.descriptive,
            )
            and self._word(1) not in ENDS
        ):
            self._at += 1
        around = self._phrases.said(max(0, self._at - 1), self._at + 2)
        word = self._word()
        if word.isdigit():
            return self.unread(f'the number {word!r} is too large')
        return self.unread(f'it does not know {word!r} in {around!r}')

    def _take(self, count: int) -> None:
        """Move on by some words that belong to the clause."""
        if not self._clause.end:
            self._clause.start = self._at
        self._at += count
        self._clause.end = self._at
        self._joint = ''

    def _flush(self, joined: str) -> None:
        """End the clause, and begin the next one."""
        if not self._clause.empty:
            self._clause.sentence = self._sentence
            self._clauses.append(self._clause)
            self._clause = Clause(joined=joined)
        elif not self._clause.given:
            self._clause = Clause(joined=joined)
        self._joint = joined

    # --- what carries nothing --------------------------------------------------------------------

    def _longest_idle(self) -> bool:
        """Skip phrases of several words that carry nothing, and such that begin a clause."""
        found = _phrases('idle').at(self._tokens, self._at)
        if found is not None and found[0] > 1 and not self._stronger(found[0]):
            self._at += found[0]
            return True
        if self._joint or self._clause.empty:
            first = _phrases('idle_first').at(self._tokens, self._at)
            if first is not None and (
                self._word(first[0]) in ENDS or self._orders(self._at + first[0])
            ):
                self._at += first[0]
                return True
        return False

    def _orders(self, after: int) -> bool:
        """Whether a word such as "first" tells the order of clauses, and no thing of several."""
        return self._word() in ('so', 'first', 'last') and bool(
            self._verb_at(after)
            or self._phrases.word(after) in ('the', 'into')
            or _phrases('idle').at(self._tokens, after)
        )

    def _stronger(self, length: int) -> bool:
        """Whether a verb, preposition or place word longer than an idle phrase stands here."""
        return any(
            found is not None and found[0] > length
            for found in (
                _verbs().at(self._tokens, self._at),
                _prepositions().at(self._tokens, self._at),
                _phrases('there').at(self._tokens, self._at),
            )
        )

    def _idle(self) -> bool:
        if self._word() == 'do' and self._word(1) != 'not' and self._verb_at(self._at + 1):
            self._at += 1
            return True
        found = _phrases('idle').at(self._tokens, self._at)
        if found is None:
            return False
        self._at += found[0]
        return True

    def _connective(self) -> bool:
        found = _phrases('connectives').at(self._tokens, self._at)
        if found is None:
            return False
        self._joint = (
            'but'
            if self._word() in ('but', 'while', 'whereas')
            else ('and' if self._joint != 'but' else 'but')
        )
        self._at += found[0]
        return True

    def _remark(self) -> bool:
        """Set aside a remark that names nothing on the table."""
        found = _phrases('remarks').at(self._tokens, self._at)
        if found is None:
            return False
        complete = self._clause.placed or self._clause.there or self._clause.state
        if not (
            self._joint
            or self._clause.empty
            or self._word() in _CONJUNCTIONS
            or (
                complete
                and found[0] > 1
                and self._word() in ('it', 'they', 'i', 'we', 'he', 'she')
            )
        ):
            return False
        if self._clause.objects and not self._joint and not self._clause.verb:
            return False
        end = self._at + found[0]
        first = True
        while self._phrases.word(end) not in ENDS:
            if (
                self._phrases.word(end) in ('i', 'we')
                and not first
                and (self._verb_at(end + 1) == 'want' and not self._wants_to_do(end + 1))
            ):
                break
            if (
                self._phrases.word(end) in ('and', 'then', 'but', 'so')
                and not first
                and (self._verb_at(end + 1) or self._verb_at(end + 2))
            ):
                break
            first = False
            end += 1
        if end == self._at + found[0] == self._at + 1 and self._word() in _CONJUNCTIONS:
            return False
        if self._heavy(self._at, end):
            return False
        self._at = end
        return True

    def _context(self) -> bool:
        """Set aside a sentence that says how things are elsewhere: "The chair is broken."."""
        if not (self._joint or self._clause.empty) or self._word() not in (
            *self._words.articles,
            'there',
            'two',
            'three',
            'everybody',
            'somebody',
            'no',
            'dinner',
        ):
            return False
        end = self._at
        while self._phrases.word(end) not in ENDS and not (
            self._phrases.word(end) in ('so', 'and') and self._verb_at(end + 1)
        ):
            end += 1
        said = self._tokens[self._at : end]
        if end >= len(self._tokens) - 1 or not {'is', 'are', 'was', 'has', 'have'} & {*said[1:7]}:
            return False
        asking = {
            'put',
            'hide',
            'take',
            'open',
            'close',
            'tidy',
            'keep',
            'stay',
            'go',
            'want',
            'fill',
        }
        if (
            self._heavy(self._at, end)
            or {'not', 'should', 'must', 'to'} & {*said}
            or any(self._verb_at(k) in asking for k in range(self._at, end))
        ):
            return False
        self._at = end
        return True

    def _heavy(self, start: int, end: int) -> bool:
        """Whether words may ask for something: they name a thing, a place, a colour or a state."""
        words, tokens = self._words, self._tokens
        if any(_phrases('heavy').at(tokens, k) for k in range(start, end)) and (
            self._phrases.word(start)
            not in (
                'because',
                'so',
                'where',
                'before',
                'since',
                'as',
                'i',
                'when',
                'we',
                'it',
                'they',
                'cause',
                'otherwise',
            )
        ):
            return True
        for k in range(start, end):
            word = tokens[k]
            if word == 'can' and self._phrases.word(k + 1) in (
                'not',
                'go',
                'see',
                'reach',
                'eat',
                'sit',
                'have',
                'get',
                'work',
                'use',
                'be',
                'all',
                'not',
                'do',
                'play',
                'find',
                'finally',
                'tell',
                'start',
                'wipe',
                'clean',
                'read',
                'draw',
                'paint',
            ):
                continue
            found = noun_phrases().at(tokens, k)
            if found is not None and word not in (
                'love',
                'thing',
                'things',
                'stuff',
                'glass',
                'tissue',
                'pack',
                'tool',
            ):
                return True
            if (
                word in words.colours
                or word in words.levels
                or word
                in (
                    *words.drawer,
                    *words.everything,
                    'everything',
                    'them all',
                    'rest',
                    'others',
                    'other',
                    'open',
                    'shut',
                    'closed',
                    'close',
                )
            ):
                return True
            verb = _verbs().at(tokens, k)
            if (
                verb is not None
                and verb[1] in ('put', 'hide', 'open', 'close', 'tidy')
                and word
                not in ('move', 'set', 'rest', 'sort', 'store', 'clean', 'dropping', 'lower')
            ):
                before = self._phrases.word(k - 1)
                if k == start or before in ('to', 'you', 'and', 'then', 'be', 'it', 'them', 'i'):
                    return True
        return False

    def _so_that(self) -> bool:
        """Skip "so that it is" before a preposition or a state."""
        k = self._at
        if self._phrases.word(k) != 'so':
            return False
        k += 1 + (self._phrases.word(k + 1) == 'that')
        if self._phrases.word(k) not in ('it', 'they', 'that'):
            return False
        k += 1
        if self._phrases.word(k) not in ('is', 'are', 'sits', 'stands', 'lies', 'ends'):
            return False
        k += 1
        while self._phrases.word(k) in (*self._words.lying, 'up', 'right'):
            if related_words().at(self._tokens, k):
                break
            k += 1
        if related_words().at(self._tokens, k) or _prepositions().at(self._tokens, k):
            self._at = k
            return True
        return False

    def _inherits(self) -> bool:
        found = _phrases('inherits').at(self._tokens, self._at)
        if found is None or (self._clause.empty and found[0] == 1):
            return False
        if self._word() == 'with' and not (
            self._clause.objects or self._clause.placed or self._clause.gone or self._clause.there
        ):
            return False
        if self._word() == 'with' and not self._clause.objects:
            pronoun = self._phrases.read(self._at + 1)
            assert pronoun is not None
            self._clause.objects.append(pronoun)
        self._clause.inherits = True
        self._take(found[0])
        return True

    def _speaker(self) -> bool:
        """Skip "I" before "want", and "my daughter says" before what she says."""
        k = self._at
        remark = _phrases('remarks').at(self._tokens, k)
        if self._word() in ('i', 'we'):
            verb = self._verb_at(k + 1)
            said = _verbs().at(self._tokens, k + 1)
            if remark is not None and (said is None or remark[0] > 1 + said[0]):
                return False
            if verb == 'want' and not self._wants_to_do(k + 1):
                if self._joint:
                    self._flush(self._joint)
                self._at += 1
                return True
            return False
        if not (self._joint or self._clause.empty):
            return False
        if _phrases('people').at(self._tokens, k) is None:
            return False
        k += _phrases('people').at(self._tokens, k)[0]  # type: ignore[index]
        word = self._phrases.word(k)
        if word in ('says', 'said', 'thinks', 'reckons', 'insists'):
            k += 1 + (self._phrases.word(k + 1) == 'that')
        elif word in ('wants', 'needs', 'would', 'asked', 'likes', 'want', 'need', 'like'):
            if (
                word in ('wants', 'needs', 'likes', 'want', 'need', 'like')
                and self._phrases.read(k + 1) is None
            ):
                return False
            if word == 'would' and self._phrases.word(k + 1) != 'like':
                return False
            k += 1 + (word == 'would')
            self._flush(self._joint or 'and')
            self._clause.verb = 'want'
            self._clause.start = self._at
        else:
            return False
        self._at = k
        self._joint = ''
        return True

    def _wants_to_do(self, k: int) -> bool:
        """Whether after "want" comes what the speaker does: that asks for nothing."""
        found = _verbs().at(self._tokens, k)
        assert found is not None
        return self._phrases.word(k + found[0]) == 'to' or (
            self._phrases.word(k) in ('love', 'like') and found[0] == 1
        )

    def _modal(self) -> bool:
        if self._word() not in (
            'can',
            'could',
            'may',
            'might',
            'shall',
            'will',
            'would',
            'should',
            'must',
            'to',
            'all',
            'both',
        ) or (self._word() == 'can' and not (self._clause.objects or self._clause.empty)):
            return False
        if self._clause.empty and self._word() in ('can', 'could', 'would', 'may', 'should'):
            subject = self._phrases.read(self._at + 1)
            if subject is not None and self._verb_at(subject.end) in ('go', 'stay'):
                self._at += 1  # "could the balls go in the bowl?"
                return True
        if not self._clause.objects or self._joint:
            return False
        after = self._phrases.word(self._at + 1)
        if self._word() == 'to' and after not in (
            'go',
            'be',
            'stay',
            'end',
            'stand',
            'sit',
            'lie',
        ):
            return False
        if self._verb_at(self._at + 1) in ('go', 'stay', 'put', 'hide') or after in (
            'be',
            'stay',
            'then',
            'all',
            'both',
            'please',
            'just',
        ):
            if _verbs().at(self._tokens, self._at):
                return False
            self._at += 1
            return True
        return False

    # --- conditions ------------------------------------------------------------------------------

    def _condition(self) -> bool:
        alternatives = Phrases(
            (one, '')
            for one in (
                'if not',
                'otherwise',
                'else',
                'or else',
                'if there is not',
                'if there is none',
                'if it is not',
                'if there are none',
                'if there is not one',
                'if there are not any',
            )
        )
        found = alternatives.at(self._tokens, self._at)
        if found and any(one.given == 'if' for one in self._clauses):
            self._flush('and')
            self._at += found[0]
            self._clause.given = 'else'
            self._clause.start = self._at
            return True
        if found and self._word() == 'if' and self._word(1) == 'it':
            self._at += found[0]  # "check that it is closed, and if it is not, close it"
            return True
        word = self._word()
        if (word in ('if', 'should') and (self._joint or self._clause.empty)) or (
            word == 'if' and self._word(1) != 'not'
        ):
            if word == 'should' and self._word(1) not in ('there',):
                return False
            return self._if()
        return False

    def _if(self) -> bool:
        """Read "if the drawer is open" or "if there is a red ball" as a clause of its own."""
        self._flush(self._joint or COMMA)
        self._at += 1
        condition = Clause(given='if', start=self._at)
        if (self._word() == 'there' and self._word(1) in ('is', 'are', 'be')) or (
            self._word() == 'you' and self._word(1) in ('see', 'find', 'have')
        ):
            self._at += 2
        negated = self._word() in ('no', 'not')
        if negated:
            self._at += 1
            self._at += self._word() in ('any', 'a')
        phrase = self._phrases.read(self._at)
        if phrase is None:
            raise self.unread(
                f'it does not know the condition "if '
                f'{self._phrases.said(self._at, self._at + 4)} ..."'
            )
        self._at = phrase.end
        condition.objects, condition.negated = [phrase], negated
        while self._word() in (
            'is',
            'are',
            'still',
            'happens',
            'to',
            'be',
            'stands',
            'left',
            'currently',
            'already',
            'should',
            'anywhere',
            'here',
            'around',
            'there',
        ):
            self._at += 1
        if self._word() == 'not':
            condition.negated = not negated
            self._at += 1
        if self._word() in self._words.opened:
            condition.state, self._at = 'open', self._at + 1
        elif self._word() in self._words.closed:
            condition.state, self._at = 'closed', self._at + 1
        elif self._word() == 'empty':
            condition.state, self._at = 'empty', self._at + 1
        elif (
            self._word() == 'on' and self._word(1) == 'the' and self._word(2) in self._words.table
        ):
            self._at += 3
        if self._word() not in (COMMA, 'then', 'please') and not self._verb_at(self._at):
            raise self.unread(
                f'it does not know the condition "if '
                f'{self._phrases.said(condition.start, self._at + 1)} ..."'
            )
        condition.end = self._at
        condition.sentence = self._sentence
        if (
            self._clauses
            and self._clauses[-1].sentence == self._sentence
            and (self._word() not in (COMMA, 'then', 'please'))
        ):
            raise self.unread('a condition must stand before what it is about')
        self._clauses.append(condition)
        self._clause = Clause(joined=COMMA)
        self._joint = COMMA
        return True

    # --- verbs -----------------------------------------------------------------------------------

    def _verb_at(self, index: int) -> str:
        """Return the class of the verb at an index; '' if there is none."""
        word = self._phrases.word(index)
        idle = _phrases('idle').at(self._tokens, index)
        if idle and not _verbs().at(self._tokens, index):
            return self._verb_at(index + idle[0]) if index + idle[0] < len(self._tokens) else ''
        if word == 'can' or (
            word in ('open', 'set', 'like')
            and self._phrases.word(index - 1) in ('the', 'an', 'a', 'that')
        ):
            return ''
        found = _verbs().at(self._tokens, index)
        return '' if found is None else str(found[1])

    def _negation(self) -> bool:
        word = self._word()
        begin = self._at
        if (word == 'do' and self._word(1) == 'not') or (
            word == 'not' and self._word(1) == 'to' and _touch().at(self._tokens, self._at + 2)
        ):
            at = self._at + 2
        elif (word == 'never' and self._verb_at(self._at + 1)) or (
            word == 'without'
            and self._phrases.word(self._at + 1)
            in ('touching', 'moving', 'disturbing', 'opening', 'closing')
        ):
            at = self._at + 1
        else:
            return False
        while self._phrases.word(at) in ('you', 'ever', 'please', 'even', 'to', 'dare', 'forget'):
            at += 1
        if self._phrases.word(at) in ('touching', 'moving', 'disturbing'):
            found: tuple[int, object] | None = (1, '')
        else:
            found = _touch().at(self._tokens, at)
        self._flush(self._joint or 'and')
        if self._tokens[begin:at][-2:] == ('to',) or 'forget' in self._tokens[begin:at]:
            self._at = at
            return True
        if found is not None:
            self._clause.verb, self._clause.negated = 'touch', True
            self._take(at - begin + found[0])
            return True
        verb = self._verb_at(at)
        if verb in ('close', 'keep') or verb == 'open':
            length = _verbs().at(self._tokens, at)
            if length is None:
                return False
            self._clause.verb, self._clause.negated = verb, True
            self._take(at - begin + length[0])
            return True
        self._at = begin
        return False

    def _left_alone(self) -> bool:
        """Read "alone", "where it is", after a verb that leaves something as it is."""
        if self._clause.verb not in ('keep', 'stay', 'go', 'touch'):
            return False
        found = _phrases('nothing_moved').at(self._tokens, self._at)
        if found is None or self._joint or (self._word() == 'put' and self._clause.verb != 'stay'):
            return False
        if self._clause.state:  # "let it stay open as it is"
            self._take(found[0])
            return True
        after = self._phrases.word(self._at + found[0])
        if after not in (*ENDS, 'and', 'but', 'then', 'while', 'so', 'because') and not _phrases(
            'idle'
        ).at(self._tokens, self._at + found[0]):
            return False
        if self._clause.verb == 'go' and self._word() not in (
            'left',
            'alone',
            'where',
            'untouched',
        ):
            return False
        if (
            self._word() in ('on', 'in')
            and self._word(1) == 'the'
            and self._phrases.word(self._at + found[0]) not in (*ENDS, 'and', 'please')
        ):
            return False
        self._clause.left_alone = True
        self._take(found[0])
        return True

    def _verb(self) -> bool:
        found = _verbs().at(self._tokens, self._at)
        stands = _phrases('opened').at(self._tokens, self._at)
        if found is None or not self._is_verb(found[0]) or (stands and stands[0] > found[0]):
            return False
        verb, clause = str(found[1]), self._clause
        length = found[0]
        if clause.empty:
            clause.verb = verb
        elif self._joint and not (clause.verb and not clause.objects and not clause.placed):
            if (
                clause.given == ''
                and not clause.verb
                and clause.objects
                and not clause.placed
                and (
                    self._joint == COMMA
                    and verb in ('go', 'stay', 'put', 'hide')
                    and not clause.state
                )
            ):
                clause.verb, clause.topic = verb, True
            else:
                self._flush(self._joint)
                self._clause.verb = verb
        elif clause.verb in ('', 'want', 'ensure', 'mention', 'go') or (
            not clause.objects and not clause.placed
        ):
            if clause.verb == 'mention' and clause.objects:
                return False
            if verb == 'keep' and clause.verb == 'want' and not clause.objects:
                clause.verb = 'keep'
            elif not (
                verb in ('go', 'want')
                and clause.verb in ('put', 'hide', 'open', 'close', 'take', 'bring', 'tidy')
            ):
                clause.verb = verb
        elif clause.verb == 'keep' and verb in ('go', 'stay'):
            pass
        elif verb == 'go':
            return False
        else:
            self._flush('')
            self._clause.verb = verb
        if verb in ('ensure', 'want'):
            self._clause.wanted = True
        if verb == 'hide':
            self._clause.hides = True
        self._take(length)
        if self._word() in ('me', 'us', 'him', 'her') and self._clause.verb in (
            'take',
            'bring',
            'put',
            'want',
            'open',
            'close',
            'ensure',
        ):
            self._at += 1
        return True

    def _is_verb(self, length: int) -> bool:
        """Whether the words that may be a verb are one here."""
        word, words = self._word(), self._words
        after = self._phrases.word(self._at + length)
        verb = str(_verbs().at(self._tokens, self._at)[1])  # type: ignore[index]
        if word in words.closed + words.opened and verb in ('open', 'close') and length == 1:
            if (
                self._clause.verb in ('keep', 'ensure', 'want', 'go', 'stay')
                or (self._clause.objects and not self._joint)
                or self._clause.says_is
            ):
                return False
            if after in (*words.colours, *ENDS) and not self._joint:
                return False
        if verb == 'close' and after in ('to',) and length == 1:
            return False
        if (
            word in ('be', 'lie', 'lies', 'stands', 'sits', 'sit', 'were', 'was', 'being', 'stand')
            and (verb == 'go')
            and not (self._clause.objects or self._clause.verb or self._clause.placed)
        ):
            return False
        if (
            verb == 'put'
            and word
            in (
                'placed',
                'laid',
                'standing',
                'sitting',
                'stacked',
                'laying',
                'packed',
                'set',
                'put',
                'moved',
                'stored',
                'stowed',
            )
            and (
                self._clause.objects
                and not self._joint
                and self._clause.verb in ('want', 'go', 'ensure')
            )
        ):
            return True
        if verb == 'get' or (word in ('get', 'have', 'check') and self._clause.verb == 'want'):
            return True
        if verb == 'use' and self._clause.verb:
            return bool(self._joint)
        return True

    # --- phrases ---------------------------------------------------------------------------------

    def _except(self) -> bool:
        found = but_words().at(self._tokens, self._at)
        length = found[0] if found else 0
        if not found and self._word() == 'but' and self._word(1) == 'not':
            length = 2
        elif (
            not found and self._word() == 'not' and self._joint and not self._verb_at(self._at + 1)
        ):
            length = 1
        if not length or self._clause.empty:
            return False
        if not (self._clause.objects or self._clause.placed):
            return False
        phrase = self._phrases.read(self._at + length)
        if phrase is None:
            return False
        phrase = self._phrases.related(phrase)
        self._clause.but.append(phrase)
        self._take(phrase.end - self._at)
        while self._word() in ('and', 'or', COMMA):
            more = self._phrases.read(self._at + 1)
            if more is None or more.head == 'drawer' or self._begins_more(more):
                break
            more = self._phrases.related(more)
            self._clause.but.append(more)
            self._take(more.end - self._at)
        self._but_goes()
        return True

    def _begins_more(self, phrase: Phrase) -> bool:
        """Whether after what is left out another phrase begins a clause of its own."""
        follows = self._phrases.word(phrase.end)
        return (
            bool(self._verb_at(phrase.end))
            or follows in ('is', 'are', 'to')
            or (_prepositions().at(self._tokens, phrase.end) is not None)
        )

    def _but_goes(self) -> None:
        """Begin a clause about what was left out last, where "which goes" follows."""
        k = self._at + (self._word() == COMMA)
        if self._phrases.word(k) in ('which', 'that', 'it', 'they') and (
            self._verb_at(k + 1) in ('go', 'stay')
        ):
            left_out = self._clause.but[-1]
            self._flush(COMMA)
            self._clause.objects.append(left_out)
            self._clause.start = k
            self._at, self._joint = k + 1, ''

    def _gone_words(self) -> bool:
        found = _phrases('gone').at(self._tokens, self._at)
        if found is None or not (self._clause.verb or self._clause.objects):
            return False
        self._clause.gone = self._phrases.said(self._at, self._at + found[0])
        self._clause.hides |= self._clause.gone.endswith('sight')
        self._take(found[0])
        return True

    def _there_words(self) -> bool:
        found = _phrases('there').at(self._tokens, self._at)
        if found is None or not (self._clause.verb or self._clause.objects):
            return False
        after = self._phrases.word(self._at + found[0])
        last = self._tokens[self._at + found[0] - 1]
        if after == 'there' and last == 'in':
            return False
        if last in ('in', 'inside', 'that') and after not in (
            *ENDS,
            'and',
            'then',
            'please',
            'too',
            'but',
            'before',
            'for',
            'pls',
            'as',
            'also',
            'so',
            'again',
            'carefully',
            'gently',
            'with',
            'when',
            'because',
            'after',
        ):
            return False
        if self._clause.verb == 'keep' and last == 'there':
            return False
        if (
            self._clause.placed
            and self._clause.there is False
            and self._clause.verb in ('put', '')
            and (last == 'there')
            and self._clause.objects
        ):
            self._take(found[0])
            return True
        self._clause.there = True
        self._take(found[0])
        return True

    def _preposition(self) -> bool:
        tokens, at = self._tokens, self._at
        skip = (
            1
            if self._word()
            in ('right', 'straight', 'just', 'over', 'back', 'up', 'down', 'out', 'directly')
            else 0
        )
        related = related_words().at(tokens, at) or (
            related_words().at(tokens, at + 1) if skip else None
        )
        found = _prepositions().at(tokens, at)
        if found is None and skip:
            found = _prepositions().at(tokens, at + 1)
            found = None if found is None else (found[0] + 1, found[1])
        if related is not None and not related_words().at(tokens, at):
            related = related[0] + 1, related[1]
        if found is None and related is None:
            return self._with()
        if related is not None and (found is None or related[0] >= found[0]):
            phrase = self._phrases.read(at + related[0])
            if phrase is not None:
                return self._place(related[0], BESIDE, Relation(str(related[1])), phrase)
        if found is None:
            return False
        phrase = self._phrases.read(at + found[0])
        if phrase is None and _phrases('idle').at(tokens, at):
            return False
        if phrase is None:
            return self._placed_away(found)
        kind = str(found[1])
        return self._place(found[0], kind, None, phrase)

    def _placed_away(self, found: tuple[int, object]) -> bool:
        """Refuse a preposition after which nothing known follows."""
        after = after_words().at(self._tokens, self._at)
        carries = self._clause.verb in ('put', 'take', 'bring', '') and not self._joint
        if after and carries and self._clause.objects and not self._clause.placed:
            raise self.unread(
                f'where {self._phrases.said(self._at, self._at + after[0])!r} is '
                'cannot be told: it knows places in, on or beside something'
            )
        self._at += found[0]
        while self._word() in (
            *self._words.articles,
            *self._words.colours,
            *self._words.descriptive,
        ):
            self._at += 1
        if self._at >= len(self._tokens) or self._word() in ENDS:
            self._at -= 1
        raise self._unknown()

    def _place(self, length: int, kind: str, relation: Relation | None, phrase: Phrase) -> bool:
        if (
            self._joint
            and self._clause.objects
            and (
                self._clause.placed
                or self._joint in ('and', 'but')
                or (self._clause.verb == 'mention' and kind != BESIDE)
            )
        ) or (self._joint in ('and', 'but') and self._clause.objects and self._clause.there):
            self._flush(self._joint)
        if (
            kind == INTO
            and self._phrases.said(self._at, self._at + length) == 'in'
            and self._clause.verb == 'put'
            and not self._clause.objects
            and self._clause.end == self._at
            and phrase.head == ''
            and (phrase.things.kinds or PENDING)[0][0] in MOVED
            and phrase.things.kinds == phrase.as_place
        ):
            self._clause.objects.append(phrase)  # "drop in the knife"
            self._clause.there = True
            self._take(length + phrase.end - self._at - length)
            return True
        self._clause.placed.append((kind, relation, phrase))
        self._clause.weak.append(self._phrases.said(self._at, self._at + length) in _WEAK)
        self._take(length + phrase.end - self._at - length)
        return True

    def _with(self) -> bool:
        if self._word() != 'with':
            return False
        phrase = self._phrases.read(self._at + 1)
        if (
            phrase is not None
            and self._clause.verb == 'fill'
            and not self._clause.placed
            and (len(self._clause.objects) == 1)
        ):
            self._clause.placed.append((INTO, None, self._clause.objects.pop()))
            self._clause.weak.append(False)
            self._clause.objects.append(phrase)
            self._take(phrase.end - self._at)
            self._coordinated()
            return True
        if phrase is None or not (
            self._clause.placed or self._clause.objects or self._clause.verb
        ):
            return False
        if not self._clause.objects and (phrase.head in ('it', 'them') or self._clause.placed):
            self._clause.objects.append(phrase)
            self._take(phrase.end - self._at)
            return True
        for word in ('on it', 'in it', 'on them', 'in them'):
            if self._phrases.said(phrase.end, phrase.end + 2) == word and self._clause.objects:
                holder = self._clause.objects.pop()
                self._clause.placed.append((ONTO if word[:2] == 'on' else INTO, None, holder))
                self._clause.weak.append(False)
                self._clause.objects.append(phrase)
                self._take(phrase.end + 2 - self._at)
                return True
        return False

    def _state(self) -> bool:
        word = self._word()
        if (
            word not in self._words.closed
            and word not in self._words.opened
            and not (
                _phrases('closed').at(self._tokens, self._at)
                or _phrases('opened').at(self._tokens, self._at)
            )
        ):
            return False
        if not (self._clause.objects or self._clause.verb):
            return False
        if self._clause.state:
            return False
        if self._joint and self._clause.placed:  # "in the top drawer, closed"
            self._flush(self._joint)
        closed = _phrases('closed').at(self._tokens, self._at)
        opened = _phrases('opened').at(self._tokens, self._at)
        found = closed or opened
        assert found is not None
        self._clause.state = 'closed' if closed else 'open'
        self._take(found[0])
        return True

    def _copula(self) -> bool:
        if self._word() not in ('is', 'are'):
            return False
        if self._word(1) == 'where' and (self._clause.placed or self._clause.objects):
            if self._clause.objects and not self._clause.placed:  # "the bowl is where they belong"
                holder = self._clause.objects.pop()
                self._clause.placed.append((INTO, None, holder))
                self._clause.weak.append(False)
            self._take(2)
            return True
        if not self._clause.objects or self._joint:
            return False
        if self._clause.verb in ('ensure', 'want', 'keep', 'go'):
            self._take(1)
            return True
        end = self._at + 1
        while self._phrases.word(end) not in ENDS:
            end += 1
        if (
            not self._clause.placed
            and not self._heavy(self._at, end)
            and not any(
                one in ('to', 'going', 'moved')
                or (
                    one == 'not'
                    and self._phrases.word(k + 1) not in ('a', 'an', 'for', 'safe', 'toys', 'good')
                )
                for k, one in enumerate(self._tokens[self._at : end], self._at)
            )
            and not (any(_verbs().at(self._tokens, k) for k in range(self._at, end)))
        ):
            self._clause.verb = 'mention'
            self._take(end - self._at)
            return True
        self._clause.says_is = True
        self._take(1)
        return True

    def _said_of_things(self) -> bool:
        """Set aside what is said of the things that a clause has named."""
        clause = self._clause
        found = _phrases('said_of_things').at(self._tokens, self._at)
        if (
            found is None
            or self._joint
            or not clause.objects
            or clause.placed
            or (clause.verb not in ('', 'mention'))
        ):
            return False
        end = self._at + found[0]
        while self._phrases.word(end) not in ENDS and not (
            self._phrases.word(end) in ('and', 'so') and self._verb_at(end + 1)
        ):
            end += 1
        if self._heavy(self._at + found[0], end):
            return False
        clause.verb = 'mention'
        self._take(end - self._at)
        return True

    def _noun(self) -> bool:
        phrase = self._which() or self._phrases.read(self._at)
        if phrase is None:
            return False
        clause = self._clause
        if phrase.head in ('it', 'them') and clause.topic and clause.objects:
            self._take(phrase.end - self._at)
            return True
        if self._joint and not clause.empty and (clause.objects or clause.placed):
            if self._joint == COMMA and clause.objects and self._is_apposition(phrase):
                self._appose(phrase)
                return True
            complete = clause.there or clause.state or clause.gone or clause.left_alone
            joins = clause.objects and not clause.placed and self._joins(phrase)
            if (clause.objects or complete or clause.verb == 'touch') and not joins:
                self._flush(self._joint)
                clause = self._clause
        elif clause.objects and not self._joint:
            last = clause.objects[-1]
            if phrase.only_count and phrase.head == 'them':
                self._appose(phrase)
                return True
            if clause.verb in ('', 'keep') and last.end == self._at:
                raise self.unread(
                    f'between {last.things.said!r} and {phrase.things.said!r} a word is missing'
                )
            raise self.unread(f'it does not see how {phrase.things.said!r} belongs to the rest')
        clause.objects.append(phrase)
        self._take(phrase.end - self._at)
        self._coordinated()
        return True

    def _which(self) -> Phrase | None:
        """Read ", which" before a verb as a pronoun."""
        if (
            self._word() != 'which'
            or not self._joint
            or not (self._verb_at(self._at + 1) or self._word(1) == 'is')
        ):
            return None
        return Phrase(Things(number=1, said='which'), 'it', (), self._at, self._at + 1)

    def _joins(self, phrase: Phrase) -> bool:
        """Whether a phrase after "and" is one more object of the clause."""
        if phrase.head == 'drawer' and self._clause.verb not in (
            'open',
            'close',
            'keep',
            'ensure',
        ):
            return False
        if 'table' in (phrase.head, self._clause.objects[-1].head):
            return False
        return self._joint in ('and', COMMA) and not self._begins_clause(phrase)

    def _begins_clause(self, phrase: Phrase) -> bool:
        """Whether a phrase is the subject of the next clause."""
        if not self._clause.verb:
            return False
        follows = self._verb_at(phrase.end)
        return (
            follows in ('go', 'stay', 'do')
            or self._phrases.word(phrase.end) in ('is', 'are', 'can')
            or (follows in ('put', 'hide') and self._phrases.word(phrase.end) == 'you')
        )

    def _coordinated(self) -> None:
        """Read more objects after "and" or commas."""
        while True:
            k = self._at
            while self._phrases.word(k) in (COMMA, 'and', 'plus'):
                k += 1
            if self._phrases.said(k, k + 2) in ('as well', 'along with', 'together with'):
                k += (
                    3
                    if self._phrases.said(k, k + 3) == 'as well as'
                    else (2 if self._phrases.word(k) != 'as' else 0)
                )
            if k == self._at or (
                self._phrases.word(k - 1) == COMMA and (_phrases('idle').at(self._tokens, k))
            ):
                return
            if (
                self._verb_at(k)
                and not noun_phrases().at(self._tokens, k)
                and self._phrases.word(k) not in ('all',)
            ):
                return
            phrase = self._phrases.read(k)
            if (
                phrase is None
                or phrase.head in ('it', 'them')
                or self._begins_clause(phrase)
                or ('table' in (phrase.head, self._clause.objects[-1].head))
            ):
                return
            only_comma = all(one == COMMA for one in self._tokens[self._at : k])
            if only_comma and (
                self._is_apposition(phrase)
                or self._clause.verb in ('keep', 'close', 'open', 'mention', 'touch')
            ):
                return
            if self._clause.verb in ('close', 'open', 'mention') and phrase.head != 'drawer':
                return
            self._check_colour(self._clause.objects[-1], phrase)
            self._clause.objects.append(phrase)
            self._at = k
            self._take(phrase.end - k)

    def _check_colour(self, before: Phrase, phrase: Phrase) -> None:
        """Refuse "the pink cups and cans": the colour may be that of the cans, too.

        Raises:
            UnreadError: the second noun has neither an article nor a colour of its own.
        """
        if (
            before.things.colours
            and before.things.plural
            and phrase.things.plural
            and phrase.bare
            and phrase.end == phrase.start + 1
            and self._phrases.word(phrase.start - 1) in ('and', COMMA)
        ):
            raise self.unread(
                f'it does not tell whether {phrase.things.said!r} are '
                f'{" or ".join(before.things.colours)}, too (say "the {phrase.things.said}", or '
                'the colour again)'
            )

    def _is_apposition(self, phrase: Phrase) -> bool:
        if phrase.only_count:
            return True
        last = self._clause.objects[-1] if self._clause.objects else None
        if (
            self._clause.placed
            or self._verb_at(phrase.end)
            or (last is not None and last.things.colours and phrase.things.colours)
        ):
            return False
        return (
            last is not None
            and phrase.head == 'one'
            and not last.things.plural
            and not phrase.things.plural
            and not phrase.things.rest
            and not phrase.things.any_of
            and (
                bool(phrase.things.where)
                or bool(phrase.things.colours)
                or related_words().at(self._tokens, phrase.end) is not None
            )
        )

    def _appose(self, phrase: Phrase) -> None:
        """Refine the last object by a phrase that says the same in other words."""
        last = self._clause.objects[-1]
        things, more = last.things, phrase.things
        if phrase.only_count:
            if more.number is not None and things.number not in (None, more.number):
                raise self.unread(f'{things.said!r} and {more.said!r} are not as many')
            things = replace(
                things,
                number=more.number,
                plural=True,
                total=more.number if not things.where else things.total,
            )
        else:
            things = replace(
                things,
                where=(*things.where, *more.where),
                total=None,
                colours=things.colours or more.colours,
            )
        self._clause.objects[-1] = replace(last, things=things, end=phrase.end)
        self._take(phrase.end - self._at)
