"""Analyses of graph functions."""

from __future__ import annotations

from ..relations import type_lca
from ..subtype import BaseCheckResult, type_base_check
from .kernels import has_reshape_pattern
from .purity import contains_impure_call, detect_recursion, is_impure_call
from .types import derive_call_ret_type, erase_to_well_defined, get_static_type, post_order_visit
from .unused import computable_at_compile_time, remove_all_unused
from .variables import (
    all_global_vars,
    all_vars,
    bindings_in,
    bound_vars,
    collect_non_negative_expressions,
    definable_tir_vars_in_type,
    defined_symbolic_vars,
    free_symbolic_vars,
    free_vars,
    get_var2val,
    name_to_binding,
    tir_vars_in_type,
    udchain,
    used_vars,
)

__all__ = [
    "BaseCheckResult",
    "all_global_vars",
    "all_vars",
    "bindings_in",
    "bound_vars",
    "collect_non_negative_expressions",
    "computable_at_compile_time",
    "contains_impure_call",
    "definable_tir_vars_in_type",
    "defined_symbolic_vars",
    "derive_call_ret_type",
    "detect_recursion",
    "erase_to_well_defined",
    "free_symbolic_vars",
    "free_vars",
    "get_static_type",
    "get_var2val",
    "has_reshape_pattern",
    "is_impure_call",
    "name_to_binding",
    "post_order_visit",
    "remove_all_unused",
    "tir_vars_in_type",
    "type_base_check",
    "type_lca",
    "udchain",
    "used_vars",
]
