"""The settings of a PassContext: their types, defaults and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import Diagnostic, PassError, suggest


class Setting(NamedTuple):
    """One setting. A setting with `options` is a mapping of them, each with its default.

    No pass reads a setting that is `waiting` yet: it may be given its default only.
    """

    kind: type
    default: Any
    meaning: str
    options: Mapping[str, Any] = {}
    waiting: bool = False


def _switch(meaning: str, default: bool = False, *, waiting: bool = False) -> Setting:
    return Setting(bool, default, meaning, waiting=waiting)


def _number(meaning: str, default: int = 0, *, waiting: bool = False) -> Setting:
    return Setting(int, default, meaning, waiting=waiting)


def _options(meaning: str, **options: Any) -> Setting:
    return Setting(Mapping, {}, meaning, options)


CONFIG: dict[str, Setting] = {
    "tirx.disable_vectorize": _switch("vectorized loops run serially"),
    "tirx.disable_storage_rewrite": _switch("allocations do not share memory"),
    "tirx.disable_cse_tir": _switch("repeated expressions get no name"),
    "tirx.disable_assert": _switch("assertions are dropped"),
    "tirx.vectorize_max_lanes": _number("longer vectorized loops are split", 64),
    "tirx.noalias": _switch("functions may assume that buffers do not overlap", True, waiting=True),
    "tirx.StmtSimplify": _options(
        "what simplification may do beyond its rules",
        transitively_prove_inequalities=True,
        convert_boolean_to_and_of_ors=False,
        apply_constraints_to_boolean_branches=False,
    ),
    "tirx.RemoveNoOp": _options(
        "what counts as nothing; simplification takes as many steps as it needs",
        max_simplification_steps=0,
        ignore_profiler_call=False,
    ),
    "tirx.UnrollLoop": _options(
        "which loops are written out",
        auto_max_step=0,
        auto_max_depth=8,
        auto_max_extent=0,
        explicit_unroll=True,
        unroll_local_access=False,
        max_nodes=20_000,
    ),
    "tirx.enable_debug": _switch("debug information", waiting=True),
    "tirx.enable_fast_math": _switch("inexact device mathematics"),
    "tirx.enable_buffer_level_predication": _switch("guarded vector loops use masked accesses", waiting=True),
    "tirx.instrument_bound_checkers": _switch("accesses check their bounds"),
    "tirx.instrument_lwp": _switch("loops report to a profiler"),
    "tirx.use_async_copy": _switch("copies marked `async_scope` run in the background", True),
    "tirx.s_tir.ldg32": _switch("guarded loads of global memory by 32 bits"),
    "tirx.merge_static_smem": _switch("static shared memory is merged too"),
    "tirx.is_entry_func": _switch("the only function is the entry", waiting=True),
    "tirx.debug_keep_trivial_loop": _switch("loops of one step stay", waiting=True),
    "tirx.vtcm_capacity": _number("limit of on-chip memory", waiting=True),
    "tirx.add_lower_pass": Setting(tuple, (), "further passes for lowering", waiting=True),
    "s_tir.HoistExpression": _options(
        "what may move out of loops", hoisted_conditionals=15, hoisted_let_bindings=7
    ),
    "s_tir.HoistIfThenElse": _options("what may move out of loops", support_block_scope_hoisting=False),
    "s_tir.InjectDoubleBuffer": _options("the unrolling of the loop", split_loop=1),
    "s_tir.LoopPartition": _options(
        "which loops are parted",
        partition_const_loop=False,
        no_unroll_loop_with_extent_one=False,
        unroll_loop_with_partition_hint_no_interval=False,
    ),
    "s_tir.instr_siblings": _switch("the profiler sees sibling loops", True),
    "s_tir.lwp_disable_func_prof": _switch("the profiler does not see functions"),
    "s_tir.lwp_max_depth": _number("the deepest loop that the profiler sees"),
    "s_tir.lwp_min_height": _number("the lowest loop that the profiler sees", 1),
    "s_tir.reset_start_id": _switch("the profiler counts from zero"),
    "relax.FuseOps.max_depth": _number("the most operators in one fused function", 256),
    "relax.backend.use_cuda_graph": _switch("static regions are captured", waiting=True),
    "relax.fallback_device_type": _number("the device of what has none", 1, waiting=True),
    "relax.lift_transform_params.consume_params": _switch("parameters are given up", waiting=True),
    "relax.transform.apply_legalize_ops": _switch("operators are legalized when fused", True, waiting=True),
    "testing.immutable_module": _switch("passes do not change what they are given (they never do)", True),
}
"""Every setting by its name."""


def check_value(key: str, value: Any) -> None:
    """Check a value for the setting `key`.

    Raises PassError where its type is wrong, where an option of that name does not exist, and for a
    setting that nothing reads yet.
    """
    setting = CONFIG[key]
    kind = setting.kind
    if kind is bool and type(value) is int:
        value = bool(value)
    if not isinstance(value, (list, tuple) if kind is tuple else kind):
        raise _wrong_type(f"the setting `{key}`", kind, value)
    if setting.options:
        _check_options(key, setting.options, value)
    if setting.waiting and (value or None) != (setting.default or None):
        raise PassError(
            Diagnostic(
                "setting-waiting",
                f"no pass reads the setting `{key}` ({setting.meaning}) yet",
                help=("leave it out",),
            )
        )


def _check_options(key: str, options: Mapping[str, Any], value: Any) -> None:
    for name, one in value.items():
        if name not in options:
            raise PassError(
                Diagnostic(
                    "unknown-setting",
                    f"the setting `{key}` has no option `{name}`",
                    notes=("options: " + ", ".join(options),),
                    help=suggest(name, options),
                )
            )
        kind = type(options[name])
        if not isinstance(one, kind) and not (kind is bool and type(one) is int):
            raise _wrong_type(f"the option `{name}` of `{key}`", kind, one)


def _wrong_type(what: str, kind: type, value: Any) -> PassError:
    return PassError(Diagnostic("setting-type", f"{what} needs a {kind.__name__}, not {value!r}"))
