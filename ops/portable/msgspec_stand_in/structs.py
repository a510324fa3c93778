"""Structs: classes whose fields are their annotations, with the options that are in use.

Not here: reading one from JSON (`shapes`), writing one (`plain`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, TypeVar


class UnsetType(Enum):
    """The type of UNSET, the default of a field that may be left out."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET: Final = UnsetType.UNSET


class Raw(bytes):
    """A value in JSON as it stood."""


class Config(NamedTuple):
    """The options of a struct."""

    frozen: bool = False
    forbid_unknown_fields: bool = False
    tag_field: str | None = None
    tag: str | None = None


class StructMeta(type):
    """Makes a struct of a class: fields from the annotations, options from the class line and from the parents."""

    __struct_fields__: tuple[str, ...]
    __struct_defaults__: dict[str, Any]
    __struct_config__: Config
    __struct_positional__: tuple[str, ...]

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *,
        frozen: bool | None = None, forbid_unknown_fields: bool | None = None, kw_only: bool = False,
        gc: bool | None = None, tag_field: str | None = None, tag: str | None = None,
    ) -> StructMeta:  # fmt: skip
        struct = super().__new__(mcls, name, bases, namespace)
        parents = [base for base in bases if isinstance(base, StructMeta)]
        inherited = parents[0].__struct_config__ if parents else Config()
        struct.__struct_config__ = Config(
            inherited.frozen if frozen is None else frozen,
            inherited.forbid_unknown_fields if forbid_unknown_fields is None else forbid_unknown_fields,
            inherited.tag_field if tag_field is None else tag_field,
            inherited.tag if tag is None else tag,
        )
        _collect_fields(struct, parents, kw_only)
        return struct


def _collect_fields(struct: StructMeta, parents: Sequence[StructMeta], kw_only: bool) -> None:
    """Fields of the parents, then the struct's own.  Those that are given by name alone come last."""
    named: dict[str, bool] = {}
    defaults: dict[str, Any] = {}
    for parent in parents:
        named |= {field: field not in parent.__struct_positional__ for field in parent.__struct_fields__}
        defaults |= parent.__struct_defaults__
    for field, kind in struct.__annotations__.items():
        if not _is_class_variable(kind):
            named[field] = kw_only
            if field in struct.__dict__:
                defaults[field] = struct.__dict__[field]
                delattr(struct, field)
    struct.__struct_positional__ = tuple(field for field in named if not named[field])
    struct.__struct_fields__ = (*struct.__struct_positional__, *(field for field in named if named[field]))
    struct.__struct_defaults__ = defaults


def _is_class_variable(kind: object) -> bool:
    return "ClassVar" in (kind if isinstance(kind, str) else repr(kind))


class Struct(metaclass=StructMeta):
    """What all structs are.  Equal are two of one class whose fields are."""

    __struct_fields__: ClassVar[tuple[str, ...]]
    __struct_defaults__: ClassVar[dict[str, Any]]
    __struct_config__: ClassVar[Config]
    __struct_positional__: ClassVar[tuple[str, ...]]

    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) > len(self.__struct_positional__):
            raise TypeError("Extra positional arguments provided")
        given = dict(zip(self.__struct_positional__, values, strict=False))
        for field in named:
            if field not in self.__struct_fields__:
                raise TypeError(f"Unexpected keyword argument '{field}'")
            if field in given:
                raise TypeError(f"Argument '{field}' given by name and position")
        fill(self, given | named)

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__struct_config__.frozen:
            raise AttributeError(f"immutable type: '{type(self).__name__}'")
        if name not in self.__struct_fields__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if self.__struct_config__.frozen:
            raise AttributeError(f"immutable type: '{type(self).__name__}'")
        super().__delattr__(name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        if not self.__struct_config__.frozen:
            raise TypeError(f"unhashable type: '{type(self).__name__}'")
        return hash(tuple(self.__dict__[field] for field in self.__struct_fields__))

    def __repr__(self) -> str:
        fields = ", ".join(f"{field}={self.__dict__[field]!r}" for field in self.__struct_fields__)
        return f"{type(self).__name__}({fields})"


S = TypeVar("S", bound=Struct)


def fill(struct: Struct, given: Mapping[str, Any]) -> None:
    """Give a new struct its values; what is not given has its default.  Raises TypeError for a field that has none."""
    defaults = struct.__struct_defaults__
    for field in struct.__struct_fields__:
        if field in given:
            struct.__dict__[field] = given[field]
        elif field in defaults:
            default = defaults[field]
            struct.__dict__[field] = default.copy() if isinstance(default, list | dict | set) else default
        else:
            raise TypeError(f"Missing required argument '{field}'")


def replace(struct: S, /, **changes: Any) -> S:
    """A copy with other values in some fields."""
    for field in changes:
        if field not in struct.__struct_fields__:
            raise TypeError(f"`{type(struct).__name__}` has no field '{field}'")
    copy = object.__new__(type(struct))
    fill(copy, struct.__dict__ | changes)
    return copy


def defstruct(name: str, fields: Sequence[tuple[str, Any]], **options: Any) -> type[Any]:
    """A struct class out of names and types."""
    module = sys._getframe(1).f_globals["__name__"]
    namespace = {"__annotations__": dict(fields), "__module__": module}
    return StructMeta(name, (Struct,), namespace, **options)
