"""The words of `I`, and those of metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import Diagnostic, DTypeError, ScriptError
from ..ir import (
    STRING,
    AnyType,
    BufferRegionType,
    DummyGlobalInfo,
    ExternFunc,
    FuncType,
    GenericConst,
    GlobalVar,
    IntImm,
    Op,
    Range,
    StringImm,
    VDevice,
)
from ..node import Attrs
from .extent import range_of
from .faults import describe, fault
from .values import Form, Meta, type_of_note

if TYPE_CHECKING:
    from .builder import Builder


def _module(b: Builder, /, word: str) -> Any:
    if b.module is None:
        raise fault("outside-module", f"`{word}` belongs in the class of a module", b.span)
    return b.module


def module_attrs(b: Builder, /, attrs: Any, allow_overwrite: bool = False) -> None:
    """`I.module_attrs({...})`."""
    _module(b, "I.module_attrs").set_attrs(attrs, allow_overwrite)


def module_set_attr(b: Builder, /, attr_key: str, attr_value: Any, allow_overwrite: bool = False) -> None:
    """`I.module_set_attr(key, value)`."""
    _module(b, "I.module_set_attr").set_attrs({attr_key: attr_value}, allow_overwrite)


def module_get_attr(b: Builder, /, attr_key: str) -> Any:
    """`I.module_get_attr(key)`, None when it is not set."""
    return _module(b, "I.module_get_attr").attrs.get(attr_key)


def module_global_infos(b: Builder, /, global_infos: Any) -> None:
    """`I.module_global_infos({name: [infos]})`."""
    _module(b, "I.module_global_infos").set_infos(global_infos)


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """`I.vdevice(target, id, scope)`: a virtual device."""
    from ..target import Target

    if isinstance(target, str | dict | Attrs):
        target = Target(dict(target) if not isinstance(target, str) else target)
    return VDevice(target, int(vdevice_id), memory_scope)


def lookup_vdevice(b: Builder, /, target_kind: Any = None, device_index: int = -1) -> VDevice:
    """`I.lookup_vdevice("cuda", 0)`: a virtual device that the module declares."""
    found = [d for d in _module(b, "I.lookup_vdevice").infos.get("vdevice", ()) if isinstance(d, VDevice)]
    if target_kind is not None:
        found = [d for d in found if str(getattr(d.target, "kind", "")) == target_kind]
    position = max(int(device_index), 0)
    if position >= len(found):
        raise fault(
            "unknown-vdevice",
            f"the module declares no virtual device `{target_kind}` number {position}",
            b.span,
        )
    device: VDevice = found[position]
    return device


def lookup_name(b: Builder, /, name: str) -> bool:
    """`I.lookup_name(name)`: whether the module has this function."""
    return name in _module(b, "I.lookup_name").global_vars


def decl_function(b: Builder, /, func_name: str, func_signature: Any) -> Any:
    """`I.decl_function(name, function)`: a name for a function to be defined."""
    module = _module(b, "I.decl_function")
    return module._new_global(func_name, getattr(func_signature, "ty", None), b)


def def_function(b: Builder, /, func_name: str, func: Any) -> None:
    """`I.def_function(name, function)`: define a function of the module."""
    module = _module(b, "I.def_function")
    if func_name not in module.global_vars:
        module._new_global(func_name, getattr(func, "ty", None), b)
    module.functions[func_name] = func


def extern_func(global_symbol: str, ty: Any = None, name: str | None = None, attrs: Any = None) -> Any:
    """`R.ExternFunc("symbol")`: a function known by its symbol; its type may stand behind it."""
    from .builder import attr_value

    if not isinstance(global_symbol, str):
        raise DTypeError(Diagnostic("invalid-argument", f"a symbol is a text, not {describe(global_symbol)}"))
    if isinstance(ty, dict):
        ty, attrs = None, ty
    found = AnyType() if ty is None else type_of_note(ty)
    if found is None:
        raise DTypeError(Diagnostic("annotation", f"{describe(ty)} is no type of a function"))
    made = ExternFunc(attrs=attr_value(dict(attrs or {})), global_symbol=global_symbol, ty=found)
    return made if name is None else NamedExtern(made, name)


class NamedExtern:
    """An extern function whose name in the module is no identifier."""

    def __init__(self, func: ExternFunc, name: str) -> None:
        self.func = func
        self.name = name


def make_range(begin: Any, end: Any = None) -> Range:
    """`T.Range(begin, end)`."""
    return Range(0, begin) if end is None else range_of(begin, end)


def meta_var(value: Any) -> Meta:
    """`I.meta_var(value)`."""
    return Meta(value)


def generic_const(ty: Any = None, value: Any = None, **_: Any) -> GenericConst:
    """`I.GenericConst(type, value)`."""
    return GenericConst(ty, value)


def func_type(arg_types: Any, ret_type: Any) -> FuncType:
    """`I.FuncType([arguments], result)`."""
    made = [type_of_note(t) for t in (*arg_types, ret_type)]
    for given, found in zip((*arg_types, ret_type), made):
        if found is None:
            raise DTypeError(Diagnostic("annotation", f"{describe(given)} is no type"))
    return FuncType(made[:-1], made[-1])


class AbsentMetadata:
    """`metadata` in a text that does not hold it: every use is an error that names the constant."""

    script_name = "metadata"

    def __getitem__(self, key: Any) -> Any:
        return _AbsentList(str(key))


class _AbsentList:
    script_name = "metadata"

    def __init__(self, key: str) -> None:
        self.key = key

    def __getitem__(self, index: Any) -> Any:
        raise ScriptError(
            Diagnostic(
                "missing-metadata",
                f'the text lacks the constant metadata["{self.key}"][{index}]',
                help=("print the program with script(show_meta=True)",),
            )
        )


class Metadata:
    """The constants that a text brings along."""

    script_name = "metadata"

    def __init__(self, tables: Mapping[str, list[Any]]) -> None:
        self.tables = tables

    def __getitem__(self, key: Any) -> Any:
        found = self.tables.get(key)
        if found is None:
            return _AbsentList(str(key))
        return MetadataList(str(key), found)


class MetadataList:
    """The constants of one kind."""

    script_name = "metadata"

    def __init__(self, key: str, items: list[Any]) -> None:
        self.key = key
        self.items = items

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int) or not 0 <= index < len(self.items):
            return _AbsentList(self.key)[index]
        return self.items[index]


def constants(tables: Mapping[str, list[Any]]) -> Metadata:
    """Metadata of our own form: arrays by kind, as tensor constants."""
    from ..dtype import DType
    from ..ir.relax import TensorType

    made = {}
    for key, arrays in tables.items():
        made[key] = [GenericConst(TensorType(a.shape, DType(a.dtype)), a) for a in arrays]
    return Metadata(made)


def load_json(text: str) -> Metadata:
    """`tvm.ir.load_json(text)`: the metadata block that the peer prints; values are decoded, nothing runs."""
    try:
        graph = json.loads(text)
        nodes = graph["nodes"]
        reader = _JsonReader(nodes)
        root = reader.value(graph["root_index"])
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as err:
        raise ScriptError(
            Diagnostic("metadata", f"this metadata cannot be read: {type(err).__name__}")
        ) from err
    if not isinstance(root, dict):
        raise ScriptError(Diagnostic("metadata", "metadata is a map of lists"))
    return Metadata({str(_text(k)): list(v) for k, v in root.items() if isinstance(v, list)})


def _text(value: Any) -> Any:
    return value.value if isinstance(value, StringImm) else value


class _JsonReader:
    """Decodes the node table of a peer's JSON graph."""

    def __init__(self, nodes: list[Any]) -> None:
        self.nodes = nodes
        self.done: dict[int, Any] = {}

    def value(self, index: int) -> Any:
        """The value of a node."""
        if index in self.done:
            return self.done[index]
        self.done[index] = None
        node = self.nodes[index]
        self.done[index] = made = self._decode(node["type"], node.get("data"))
        return made

    def _decode(self, kind: str, data: Any) -> Any:
        if kind in ("ffi.String", "int", "float", "bool", "String", "ffi.SmallStr"):
            return data
        if kind in ("ffi.Array", "ffi.List", "Array"):
            return [self.value(i) for i in data]
        if kind in ("ffi.Map", "ffi.Dict", "Map"):
            return {self.value(data[i]): self.value(data[i + 1]) for i in range(0, len(data), 2)}
        if kind in ("ir.StringImm", "tir.StringImm"):
            return StringImm(self.value(data["value"]) if isinstance(data["value"], int) else data["value"])
        if kind in ("ir.IntImm", "IntImm"):
            return IntImm(self._dtype(data), self._plain(data["value"]))
        return _Opaque(kind)

    def _plain(self, value: Any) -> Any:
        return value

    def _dtype(self, data: Any) -> Any:
        ty = self.nodes[data["ty"]] if "ty" in data else None
        found = ty["data"].get("dtype") if isinstance(ty, dict) and isinstance(ty.get("data"), dict) else None
        found = self.value(found) if isinstance(found, int) else found
        return found if isinstance(found, str) else "int32"


class _Opaque:
    """A kind of metadata that has no meaning here."""

    def __init__(self, kind: str) -> None:
        self.script_name = f"metadata of kind {kind}"


def words() -> Mapping[str, Any]:
    """The words of `I`."""
    building: dict[str, Callable[..., Any]] = {
        "module_attrs": module_attrs,
        "module_set_attr": module_set_attr,
        "module_get_attr": module_get_attr,
        "module_global_infos": module_global_infos,
        "lookup_vdevice": lookup_vdevice,
        "lookup_name": lookup_name,
        "decl_function": decl_function,
        "def_function": def_function,
    }
    out: dict[str, Any] = {
        # Python runs the body of a decorated class too; there these words do nothing
        name: Form(f"I.{name}", run, building=True, outside=lambda *_, **__: None)
        for name, run in building.items()
    }
    out["vdevice"] = Form("I.vdevice", vdevice)
    out["dummy_global_info"] = Form("I.dummy_global_info", DummyGlobalInfo)
    out["meta_var"] = Form("I.meta_var", meta_var)
    out["Range"] = Form("I.Range", make_range)
    out["StringImm"] = Form("I.StringImm", StringImm)
    out["GenericConst"] = Form("I.GenericConst", generic_const)
    out["StringType"] = Form("I.StringType", lambda: STRING)
    out["BufferRegionType"] = Form("I.BufferRegionType", BufferRegionType)
    out["FuncType"] = Form("I.FuncType", func_type)
    out["Op"] = Form("I.Op", Op)
    out["GlobalVar"] = Form("I.GlobalVar", GlobalVar)
    return out
