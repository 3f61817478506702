"""Nodes: fields, construction, immutability, attributes, deep contexts."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.node import (
    DERIVED,
    IGNORED,
    NO_ATTRS,
    Attrs,
    Defines,
    Node,
    deep,
    find_class,
    node_order,
    runs_deep,
    visit_order,
)


class Leaf(Node):
    name: Annotated[str, IGNORED]
    size: int = 1


class Pair(Node):
    left: Node
    right: Leaf | None = None
    rest: tuple[Leaf, ...] = ()
    attrs: Attrs = NO_ATTRS
    anything: Any = None
    total: Annotated[int, DERIVED]

    @staticmethod
    def _coerce(left, right, rest, attrs, anything):
        return left, right, tuple(rest), attrs if type(attrs) is Attrs else Attrs(attrs), anything

    def _derive(self):
        return len(self.rest)


class Binder(Pair):
    var: Annotated[Leaf, Defines("left", symbols=True)] = Leaf("v")
    span: Annotated[str | None, IGNORED] = None


def test_fields_come_in_order_without_derived_ones():
    assert Leaf.fields == ("name", "size") == Leaf.__match_args__
    assert Pair.fields == ("left", "right", "rest", "attrs", "anything")
    assert Binder.fields == (*Pair.fields, "var", "span")


def test_the_field_table_tells_what_a_field_holds():
    rows = {f.name: f for f in Binder.field_table}
    kinds = {name: f.kind for name, f in rows.items()}
    assert kinds == {
        "left": "node",
        "right": "maybe",
        "rest": "nodes",
        "attrs": "attrs",
        "anything": "any",
        "var": "node",
        "span": "leaf",
    }
    assert rows["var"].defines == Defines("left", symbols=True) and rows["span"].ignored
    assert rows["right"].has_default and not rows["left"].has_default
    assert visit_order(Binder)[0].name == "var"
    assert find_class("loopwright.ir", "For").__name__ == "For"


def test_construction():
    leaf = Leaf("a")
    pair = Pair(leaf, rest=[leaf, leaf], attrs={"k": [1]})
    assert pair.rest == (leaf, leaf) and pair.total == 2 and pair.attrs["k"] == (1,)
    match pair:
        case Pair(left=Leaf(name=name), right=None):
            assert name == "a"
        case _:
            pytest.fail("patterns match on fields")
    with pytest.raises(TypeError):
        Leaf()
    with pytest.raises(TypeError):
        Leaf("a", 1, 2)
    with pytest.raises(TypeError):
        Leaf(nme="a")


def test_a_field_without_default_cannot_follow_one_with_a_default():
    with pytest.raises(TypeError, match="without default"):

        class Wrong(Node):
            a: int = 1
            b: int


def test_nodes_are_immutable():
    leaf = Leaf("a")
    with pytest.raises(AttributeError, match=r"use .replace\(size=...\)"):
        leaf.size = 2
    with pytest.raises(AttributeError):
        del leaf.size
    with pytest.raises(AttributeError):
        leaf.other = 1
    assert not hasattr(leaf, "__dict__")


def test_replace_and_field_values():
    leaf = Leaf("a")
    new = leaf.replace(size=5)
    assert (new.name, new.size, leaf.size) == ("a", 5, 1)
    assert new.field_values() == ("a", 5)
    with pytest.raises(TypeError, match="no field 'sise'; it has name, size"):
        leaf.replace(sise=1)


def test_equality_is_identity():
    a, b = Leaf("a"), Leaf("a")
    assert a == a and a != b and len({a, b}) == 2


def test_nodes_may_be_referenced_weakly():
    leaf = Leaf("a")
    ref = weakref.ref(leaf)
    assert ref() is leaf
    del leaf
    gc.collect()
    assert ref() is None


def test_text_of_a_node_is_bounded():
    node = Leaf("a")
    for _ in range(2_000):
        node = Pair(node)
    assert len(repr(node)) < 200
    assert repr(Leaf("a", 2)) == "Leaf(name='a', size=2)"
    assert repr(Pair(Leaf("a"), rest=[Leaf("b")] * 9)).endswith("...))")


def test_order_puts_children_first():
    a, b = Leaf("a"), Leaf("b")
    pair = Pair(a, b, attrs={"k": (b, {"x": a})})
    assert node_order(pair) == [a, b, pair]


def test_pickling_keeps_sharing_and_depth():
    leaf = Leaf("a")
    node = leaf
    for _ in range(10_000):
        node = Pair(node, leaf, attrs={"k": leaf})
    back, again = pickle.loads(pickle.dumps([node, leaf]))
    assert back.right is again and back.attrs["k"] is again
    depth = 0
    while isinstance(back, Pair):
        back, depth = back.left, depth + 1
    assert back is again and depth == 10_000


# attributes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def frozen(value):
    if isinstance(value, list | tuple):
        return tuple(frozen(v) for v in value)
    return Attrs({k: frozen(v) for k, v in value.items()}) if isinstance(value, dict) else value


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_attributes_are_frozen_copies(items):
    attrs = Attrs(items)
    assert list(attrs) == list(items) and len(attrs) == len(items)
    assert dict(attrs) == {k: frozen(v) for k, v in items.items()}
    assert hash(attrs) == hash(Attrs(dict(reversed(items.items()))))
    assert attrs == Attrs(dict(reversed(items.items())))
    assert pickle.loads(pickle.dumps(attrs)) == attrs


def test_attributes_are_changed_by_copy():
    attrs = Attrs({"a": 1}, b=2)
    assert dict(attrs.set(c=3)) == {"a": 1, "b": 2, "c": 3}
    assert dict(attrs.without("a", "x")) == {"b": 2}
    assert dict(attrs) == {"a": 1, "b": 2} and attrs == {"b": 2, "a": 1}
    with pytest.raises(AttributeError):
        attrs.x = 1
    with pytest.raises(TypeError):
        attrs["x"] = 1
    with pytest.raises(TypeError, match="keys of Attrs are strings"):
        Attrs({1: 2})
    assert repr(attrs) == "Attrs({'a': 1, 'b': 2})"


# deep contexts


def test_the_recursion_limit_comes_back():
    old = sys.getrecursionlimit()
    with deep():
        assert sys.getrecursionlimit() > 100_000
        with deep():
            pass
        assert sys.getrecursionlimit() > 100_000
    assert sys.getrecursionlimit() == old
    with pytest.raises(ZeroDivisionError), deep():
        _ = 1 // 0
    assert sys.getrecursionlimit() == old


@runs_deep
def descend(n):
    """How deep."""
    return _down(n)


def _down(n):
    return 0 if n == 0 else 1 + _down(n - 1)


def test_entry_points_recurse_deeply_in_several_threads():
    old = sys.getrecursionlimit()
    results = []

    def work():
        for _ in range(5):
            results.append(descend(20_000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [20_000] * 20
    assert sys.getrecursionlimit() == old
    assert descend.__doc__ == "How deep."
