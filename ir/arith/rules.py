"""The table of rewriting rules: node class -> rules, tried in order.

Each rule names its class of arithmetic (DESIGN, section 4):

ANY    holds for every type, whatever overflows
RING   holds for integers modulo the size of their type: wrapping arithmetic included
INDEX  needs that sums and products do not overflow: it applies to data only where bounds prove
       that (sums are read through `Analyzer.linear`, which stops at what may wrap)
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..expr import Expr

if TYPE_CHECKING:
    from .analyzer import Analyzer


class Class(enum.Enum):
    """To which arithmetic a rule applies."""

    ANY = "any"
    RING = "ring"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewriting rule: `apply` gives the new expression or None; `law` says what it does."""

    name: str
    klass: Class
    law: str
    apply: Callable[[Analyzer, Any], Expr | None]


RULES: dict[type, list[Rule]] = {}

Apply = Callable[["Analyzer", Any], Expr | None]


def rule(nodes: type | tuple[type, ...], name: str, klass: Class, law: str) -> Callable[[Apply], Apply]:
    """Decorator that enters a function into the table for these node classes."""

    def enter(apply: Apply) -> Apply:
        for node in nodes if isinstance(nodes, tuple) else (nodes,):
            RULES.setdefault(node, []).append(Rule(name, klass, law, apply))
        return apply

    return enter


def all_rules() -> tuple[Rule, ...]:
    """Every rule once, in order of definition."""
    return tuple({r.name: r for rules in RULES.values() for r in rules}.values())


# the families enter themselves, in this order
from . import rules_bool, rules_divide, rules_misc  # noqa: E402,F401,I001
from . import rules_compare, rules_constant, rules_extreme, rules_quotient, rules_vector  # noqa: E402,F401
