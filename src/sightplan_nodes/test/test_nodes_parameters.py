"""Settings dataclasses as parameters; options as text; errors as codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.exceptions import ParameterImmutableException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from sightplan_interfaces.srv import Plan

from nodes_testing import LIMIT_S, parameters, spinning
from sightplan import model
from sightplan.model import InfrastructureError, InputError, SightplanError, param
from sightplan.model.option_pairs import parse_options
from sightplan_nodes import failures
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.parameters import declare_settings


@dataclass(frozen=True, slots=True)
class Settings:
    name: str = param('x', 'A name', choices=('x', 'y'))
    ratio: float = param(0.5, 'A ratio', low=0.0, high=1.0)
    count: int = param(3, 'A count', low=0)
    flag: bool = param(False, 'A flag')
    words: tuple = param((), 'Some words')


def declared(**values: object):
    node = Node('settings', parameter_overrides=parameters(**values))
    try:
        return declare_settings(node, Settings), node
    except BaseException:
        node.destroy_node()
        raise


def test_defaults_and_overrides() -> None:
    settings, node = declared(name='y', count=7)
    assert settings == Settings('y', 0.5, 7, False, ())
    node.destroy_node()
    settings, node = declared(flag=True, words=['a', 'b'])
    assert settings == Settings(flag=True, words=('a', 'b'))
    node.destroy_node()


def test_described_bounded_and_read_only() -> None:
    _, node = declared()
    ratio = node.describe_parameter('ratio')
    assert ratio.description == 'A ratio'
    assert (ratio.floating_point_range[0].from_value, ratio.floating_point_range[0].to_value) == (
        0.0, 1.0)
    assert 'x, y' in node.describe_parameter('name').additional_constraints
    result = node.set_parameters([Parameter('count', value=9)])[0]
    assert not result.successful
    assert 'read-only' in result.reason or ParameterImmutableException.__name__ in result.reason
    node.destroy_node()


def test_a_whole_number_is_a_float() -> None:
    settings, node = declared(ratio=1)
    assert settings.ratio == 1.0
    assert isinstance(settings.ratio, float)
    node.destroy_node()


@pytest.mark.parametrize(('values', 'words'), [
    ({'ratio': 1.5}, 'ratio'), ({'count': -1}, 'count'), ({'count': 'many'}, 'count'),
    ({'name': 'z'}, 'x, y'), ({'flag': 'perhaps'}, 'flag')])
def test_wrong_values_name_node_and_parameter(values: dict, words: str) -> None:
    with pytest.raises(InputError, match='settings') as caught:
        declared(**values)
    assert words in str(caught.value)


def test_prefix_and_what_is_left_out() -> None:
    node = Node('settings', parameter_overrides=parameters(camera__count=5))
    settings = declare_settings(node, Settings, prefix='camera.', leave_out=('name',))
    assert settings.count == 5
    assert not node.has_parameter('camera.name')
    assert node.has_parameter('camera.ratio')
    node.destroy_node()


@pytest.mark.parametrize(('text', 'options'), [
    ('', {}), ('name=y', {'name': 'y'}), ('count=4, ratio=0.25', {'count': 4, 'ratio': 0.25}),
    ('{"name": "a,b", "count": 2}', {'name': 'a,b', 'count': 2}), ('flag=true', {'flag': True})])
def test_options(text: str, options: dict) -> None:
    assert parse_options(text, 'backend_options', Settings) == options


@pytest.mark.parametrize('text', ['name', 'nam=y', '{"a": ', 'count=many', '=3'])
def test_bad_options_name_the_parameter(text: str) -> None:
    with pytest.raises(InputError, match='backend_options'):
        parse_options(text, 'backend_options', Settings)


def test_options_without_settings_are_guessed() -> None:
    assert parse_options('a=1,b=word,c=0.5', 'o') == {'a': 1, 'b': 'word', 'c': 0.5}


CLASSES = sorted((cls for cls in vars(model).values()
                  if isinstance(cls, type) and issubclass(cls, SightplanError)),
                 key=lambda cls: cls.__name__)


@pytest.mark.parametrize('cls', CLASSES)
def test_every_error_survives_the_way(cls: type[SightplanError]) -> None:
    reply = failures.fill_error(Plan.Response(), cls('what went wrong'))
    with pytest.raises(cls, match='some_node: what went wrong') as caught:
        failures.raise_error(reply, 'some_node')
    assert type(caught.value) is cls


def test_codes_are_unique() -> None:
    assert len({cls.code for cls in CLASSES}) == len(CLASSES)
    assert set(failures.BY_CODE.values()) == set(CLASSES)


def test_unexpected_exceptions_are_named_and_infrastructure() -> None:
    reply = failures.fill_error(Plan.Response(), KeyError('nothing'))
    assert reply.error_code == InfrastructureError.code
    assert "KeyError: 'nothing'" in reply.error_msg
    failures.raise_error(Plan.Response(), 'n')


@pytest.mark.parametrize('error', [InputError('a\ud83db\0'), ValueError('a\ud83db\0')])
def test_odd_text_is_made_fit_to_send(error: Exception) -> None:
    reply = failures.fill_error(Plan.Response(), error)
    said = 'a\\ud83db\\x00' if isinstance(error, InputError) else 'a\ufffdb\ufffd'
    assert reply.error_msg.endswith(said), 'errors of ours escape it themselves'
    assert deserialize_message(serialize_message(reply), Plan.Response) == reply


def broken(request: Plan.Request, response: Plan.Response) -> Plan.Response:
    raise ValueError('odd \ud83d')


def unfit(request: Plan.Request, response: Plan.Response) -> Plan.Response:
    response.message = 'half \ud83d'
    return response


async def unfit_later(request: Plan.Request, response: Plan.Response) -> Plan.Response:
    return unfit(request, response)


@pytest.mark.parametrize(('callback', 'words'), [
    (broken, 'ValueError: odd'), (unfit, 'UnicodeEncodeError'),
    (unfit_later, 'UnicodeEncodeError')])
def test_a_service_outlives_its_callback(callback: Callable, words: str,
                                         capfd: pytest.CaptureFixture) -> None:
    """Its client gets a reply, and so does the next one."""
    server, client = Node('server'), Node('client')
    server.create_service(Plan, 'plan', failures.guarded(server, Plan.Response, callback))
    call = ServiceCaller(client, Plan, 'plan', 'server')
    with spinning(server, client):
        for _ in range(2):
            reply = call(Plan.Request(), LIMIT_S)
            assert reply.error_code == InfrastructureError.code
            assert words in reply.error_msg
    assert words in capfd.readouterr().err


def test_codes_of_a_newer_version() -> None:
    with pytest.raises(InfrastructureError, match='n: new'):
        failures.raise_error(Plan.Response(error_code=9999, error_msg='new'), 'n')


@given(st.sampled_from(CLASSES), st.text(max_size=20))
def test_errors_in_the_words_of_the_episode_loop(cls: type[SightplanError], text: str) -> None:
    error = failures.error_from_text(f'{cls.__name__}: {text}')
    assert type(error) is cls
    assert str(error) == str(cls(text))


def test_other_texts_are_infrastructure_errors() -> None:
    error = failures.error_from_text('unexpected ValueError: x')
    assert type(error) is InfrastructureError
    assert str(error) == 'unexpected ValueError: x'


def test_errors_and_options_tell_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PLUGIN_TOKEN', 'Zulu7plant0Alpha')
    said = 'refused: Zulu7plant0Alpha at http://me:password1@host'
    for error in (RuntimeError(said), InputError(said)):
        response = failures.fill_error(Plan.Response(), error)
        assert response.error_msg.endswith('refused: [key] at http://[key]@host')
    with pytest.raises(InputError, match='backend_options is not JSON') as caught:
        parse_options('{"api_key": Zulu7plant0Alpha}', 'backend_options')
    assert 'Zulu7' not in str(caught.value) and caught.value.__cause__ is None
