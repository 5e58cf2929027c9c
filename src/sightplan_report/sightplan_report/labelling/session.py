"""Labelling session: one person's labels of the tasks."""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sightplan.model import Atom, InfrastructureError, InputError
from sightplan.records.failure_picture import encode_png
from sightplan_report.labelling.labels import Key, Label, LabelFile, LabelValue, printable
from sightplan_report.labelling.tasks import Pictures, TaskImage, TaskQuestion, Tasks


class LabellingSession:
    """Takes labels of one person and writes them at once; safe for use from several threads."""

    def __init__(self, tasks: Tasks, file: LabelFile, who: str = '', show_answers: bool = False,
                 clock: Callable[[], datetime.datetime] | None = None) -> None:
        """Go on where this person stopped.

        Args:
            tasks: what is to be labelled.
            file: open; earlier labels of the person are taken from it.
            who: the person.
            show_answers: whether ``overview`` says what models answered.
            clock: gives the time, with time zone; None for the machine's.
        """
        self.who, self.tasks, self.file = who, tasks, file
        self._show_answers = show_answers
        self._clock = clock or (lambda: datetime.datetime.now(datetime.UTC))
        self._questions: dict[Key, tuple[TaskImage, TaskQuestion]] = {
            (image.image_id, question.atom): (image, question)
            for image in tasks.images for question in image.questions}
        self._images = {image.image_id: image for image in tasks.images}
        self._labels: dict[Key, LabelValue] = {}
        self._last = ''
        for label in file.of(who):
            self._note(label.key, label.value)
        self._pictures = Pictures()
        self._labels_lock, self._pictures_lock = threading.Lock(), threading.Lock()

    def _note(self, key: Key, value: LabelValue | None) -> None:
        if key not in self._questions:
            return
        self._last = key[0]
        if value is None:
            self._labels.pop(key, None)
        else:
            self._labels[key] = value

    def _take_note(self, others: Sequence[Label]) -> list[Label]:
        """Take over this person's labels from another session, without writing them."""
        for other in others:
            if other.who == self.who:
                self._note(other.key, other.value)
        return []

    @property
    def labelled(self) -> int:
        """Number of questions with a label of this person."""
        return len(self._labels)

    def label(self, image_id: str, atom: str, value: LabelValue | None) -> dict[str, Any]:
        """Take one label, which is on the disk afterwards; a repeated label is written once.

        What the same person has labelled meanwhile in another session of the file is known then.

        Args:
            image_id: id of the picture.
            atom: what the label is about, such as "on r,g".
            value: the label; None takes it back.

        Returns:
            JSON-ready: what counts now.

        Raises:
            KeyError: this is not to be labelled.
            InfrastructureError: it cannot be written.
        """
        try:
            key = (image_id, Atom.parse(atom))
        except ValueError as error:
            raise KeyError(atom) from error
        image, question = self._questions[key]

        def decide(others: Sequence[Label]) -> list[Label]:
            self._take_note(others)
            return [] if self._labels.get(key) is value else [Label(
                image=image_id, atom=question.atom, label=value, who=self.who,
                time=self._clock(), question=question.text, bag=printable(str(image.bag)),
                episode=printable(image.episode), stamp_ns=image.observation.stamp_ns)]
        with self._labels_lock:
            self.file.append(decide)
            self._note(key, value)
            return {'image': image_id, 'atom': str(question.atom),
                    'label': None if value is None else value.value, 'labelled': self.labelled}

    def picture(self, image_id: str) -> bytes:
        """A picture as PNG.

        Raises:
            KeyError: it is not to be labelled.
            InputError: its bag does not hold it (any more).
        """
        image = self._images[image_id]
        with self._pictures_lock:
            pixels = self._pictures.get(image)
        if pixels.size == 0:
            raise InputError(f'{image.bag}: picture {image_id} has no pixels')
        return encode_png(pixels)

    def overview(self) -> dict[str, Any]:
        """All that the page needs, JSON-ready: pictures, questions, and this person's labels."""
        with self._labels_lock:
            with contextlib.suppress(InfrastructureError):  # raised again when a label is written
                self.file.append(self._take_note)
            images = [{'id': image.image_id, 'episode': image.episode,
                       'questions': [self._shown(image.image_id, question)
                                     for question in image.questions]}
                      for image in self.tasks.images]
            start = self._start()
        return {'who': self.who, 'file': self.file.path.name, 'start': start,
                'showAnswers': self._show_answers, 'images': images}

    def _shown(self, image_id: str, question: TaskQuestion) -> dict[str, Any]:
        value = self._labels.get((image_id, question.atom))
        shown: dict[str, Any] = {
            'atom': str(question.atom), 'predicate': question.atom.predicate,
            'text': question.text, 'label': None if value is None else value.value}
        if self._show_answers:
            shown['answers'] = [{'model': model, 'answer': verdict.value}
                                for model, verdict in question.answers]
        return shown

    def _start(self) -> int:
        """Number of the first picture to show: the last one worked on, or the next with gaps."""
        images = self.tasks.images
        last = next((n for n, image in enumerate(images) if image.image_id == self._last), 0)
        order: Iterable[int] = (*range(last, len(images)), *range(last))
        return next((n for n in order if any(
            (images[n].image_id, question.atom) not in self._labels
            for question in images[n].questions)), last)
