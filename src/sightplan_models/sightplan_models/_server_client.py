"""Common part of the backends that ask a server: settings, the client, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from sightplan.model import InputError, Usage, param
from sightplan_models._event_loop import EventLoop
from sightplan_models._openai_server import DEFAULT_VARIABLE, Prices, Server, check_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of the backends that ask a server."""

    backend: ClassVar[str]

    base_url: str = param('', 'Address of the server, such as http://localhost:8000/v1; empty: '
                          'OPENAI_BASE_URL, else the service of OpenAI')
    api_key_env: str = param(DEFAULT_VARIABLE, 'Name of the environment variable that holds the '
                             'key; a server of your own may need none', identity=False)
    name: str = param('', 'What the model is called in results; empty: model@server')
    timeout_s: float = param(120.0, 'Limit of one request [s]', low=0.1, high=3600.0,
                             identity=False)
    retries: int = param(5, 'Most further tries of a request after rate limits, outages and '
                         'nonsense', low=0, high=100, identity=False)
    backoff_s: float = param(1.0, 'Pause before the second try [s], doubled each time, with '
                             'jitter; a server that says how long to wait is obeyed', low=0.0,
                             high=60.0, identity=False)
    price_in: float = param(0.0, 'Price of a million prompt tokens [USD]', low=0.0,
                            identity=False)
    price_cached: float = param(-1.0, 'Price of a million prompt tokens that are in the '
                                "server's cache [USD]; -1: as price_in", low=-1.0,
                                identity=False)
    price_out: float = param(0.0, 'Price of a million completion tokens [USD]', low=0.0,
                             identity=False)
    max_cost_usd: float = param(
        0.0, 'Cap: when the run has cost this [USD], it stops before the next request and keeps '
        'all finished episodes; 0: none. It is passed by one request at most: near it, fewer '
        'are sent at a time. Requests without a reply count with the most they may take. All '
        'sessions of a run count together (of one that was killed, the episode it was in is not '
        'counted)', low=0.0, identity=False)
    max_tokens_total: int = param(0, 'Cap on the prompt and completion tokens of a run together, '
                                  '0: none', low=0, identity=False)

    def __post_init__(self) -> None:
        """Refuse settings that could carry a secret into results.

        Raises:
            InputError: names the field, but not its value.
        """
        check_secrets(self, self.backend)


S = TypeVar('S', bound=ServerSettings)


class ServerClient(Generic[S]):
    """A server, the thread that sends requests to it, and what they cost.

    Args:
        settings: of the backend.
        model: name of the model for the server; '' where it has one only.
        concurrency: most requests at a time; 0: as many as the server works on.

    Raises:
        InputError: there is no key, or a cap on the cost without prices.
        BackendError: the ``openai`` library is missing.
    """

    def __init__(self, settings: S, model: str, concurrency: int) -> None:
        self._settings, self._model = settings, model
        s = settings
        prices = Prices(s.price_in, None if s.price_cached < 0 else s.price_cached, s.price_out,
                        s.max_cost_usd, s.max_tokens_total)
        if s.max_cost_usd and not prices.known:
            raise InputError(f'backend {s.backend}: max_cost_usd needs price_in and price_out; '
                             'set them, or cap max_tokens_total')
        self._server = Server(
            base_url=s.base_url, api_key_env=s.api_key_env, concurrency=concurrency,
            timeout_s=s.timeout_s, retries=s.retries, backoff_s=s.backoff_s, prices=prices,
            label=s.backend)
        self._loop = EventLoop(f'{s.backend}-backend')

    @property
    def name(self) -> str:
        """``model@server``, for example ``gpt-4.1@api.openai.com/v1``."""
        return self._settings.name or f'{self._model or "model"}@{self._server.host}'

    @property
    def usage(self) -> Usage:
        """Requests that were answered, tokens and cost since the start."""
        return self._server.meter.usage

    def carry_over(self, spent: Usage) -> None:
        """Count the spending of the run's earlier sessions towards the caps."""
        self._server.meter.carry_over(spent)

    def close(self) -> None:
        """Cancel requests under way, and close the connections."""
        if not self._loop.closed:
            self._loop.call(self._server.close())
            self._loop.close()
