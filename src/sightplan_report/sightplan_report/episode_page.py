"""Page of one episode, step by step: what was seen, asked, believed, decided, done, and true."""

from __future__ import annotations

from sightplan_report.episode_view import EpisodeView
from sightplan_report.html import render


def section(episode: EpisodeView) -> str:
    """Section of a page about an episode, as HTML."""
    return render('episode.jinja', e=episode)


def page(episode: EpisodeView) -> str:
    """A page of one episode alone: HTML, self-contained."""
    return render('alone.html.jinja', title=episode.title, section=section(episode))
