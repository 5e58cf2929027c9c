"""Settings dataclasses of the core as ROS parameters: described, bounded, read-only."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from sightplan.model import InputError, check_settings, settings_fields
from sightplan.model.settings import SettingField
from sightplan.model.type_words import type_in_words

S = TypeVar('S')


def _descriptor(field: SettingField) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(description=field.description, read_only=True)
    if field.choices is not None:
        descriptor.additional_constraints = f'one of: {", ".join(field.choices)}'
    if field.type is float and field.low is not None and field.high is not None:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(field.low), to_value=float(field.high))]
    if field.type is int and field.low is not None and field.high is not None:
        descriptor.integer_range = [
            IntegerRange(from_value=int(field.low), to_value=int(field.high), step=1)]
    return descriptor


def _as_float(node: Node, name: str) -> None:
    """Take a whole number for a float, as people write it: ROS itself tells 10 from 10.0."""
    given = node._parameter_overrides.get(name)  # rclpy has no public access before declaring
    if given is not None and given.type_ is Parameter.Type.INTEGER:
        node._parameter_overrides[name] = Parameter(
            name, Parameter.Type.DOUBLE, float(given.value))


def declare_settings(node: Node, cls: type[S], prefix: str = '',
                     leave_out: Collection[str] = ()) -> S:
    """Declare each field of a settings dataclass as a parameter and read them.

    Args:
        node: whose parameters they become.
        cls: a settings dataclass (see sightplan.model.settings).
        prefix: put before each name, for example ``camera.``.
        leave_out: fields that become no parameters and keep their defaults.

    Returns:
        The settings as given by launch file, parameter file or command line.

    Raises:
        InputError: a value has the wrong type or is out of bounds; names node, parameter and
            bounds.
    """
    values: dict[str, Any] = {}
    for field in settings_fields(cls):
        if field.name in leave_out:
            continue
        name, default = prefix + field.name, field.default
        if field.type is float:
            _as_float(node, name)
        if isinstance(default, tuple):
            default = list(default)
        descriptor = _descriptor(field)
        try:
            if default == []:  # rclpy takes an empty list for a byte array
                declared = node.declare_parameter(
                    name, Parameter.Type.STRING_ARRAY, descriptor, ignore_override=False)
                value: Any = declared.value or []
            else:
                value = node.declare_parameter(name, default, descriptor).value
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            bounds = (f' in [{field.low}, {field.high}]'
                      if (field.low, field.high) != (None, None) else '')
            raise InputError(
                f'{node.get_name()}: parameter {name} must be {type_in_words(field.type)}{bounds} '
                f'({field.description}): {error}') from error
        values[field.name] = tuple(value) if isinstance(value, list) else value
    settings = cls(**values)
    check_settings(settings, f'{node.get_name()}: parameters')
    return settings
