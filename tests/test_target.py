from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright import Target
from loopwright.errors import TargetError
from loopwright.target import list_kinds, list_tags, register_tag

ATTRS = st.fixed_dictionaries(
    {},
    optional={
        "mcpu": st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True),
        "num-cores": st.integers(1, 512),
        "opt-level": st.integers(0, 3),
        "mattr": st.lists(st.from_regex(r"[+-][a-z0-9]{1,5}", fullmatch=True), min_size=1, max_size=3),
        "fast-math": st.booleans(),
    },
)


@given(ATTRS)
def test_every_form_says_the_same(attrs: dict[str, object]) -> None:
    made = Target({"kind": "llvm", **attrs})
    for other in (Target(str(made)), Target(made.export()), Target(made), pickle.loads(pickle.dumps(made))):
        assert other == made and hash(other) == hash(made)
    words = [f"-{k}={','.join(v) if isinstance(v, list) else v}" for k, v in attrs.items()]
    assert Target(" ".join(["llvm", *words])) == made


@pytest.mark.parametrize("kind", list_kinds())
def test_every_kind_by_name(kind: str) -> None:
    made = Target(kind)
    assert made.kind == kind and Target(made.export()) == made and made.host is None
    assert made != Target(made, host="c") and made.with_host("c").host == Target("c")


def test_every_tag() -> None:
    for name, made in list_tags().items():
        assert Target(name) == made and Target({"tag": name}) == made and Target(made.export()) == made
    assert Target("nvidia/nvidia-h100").get("arch") == "sm_90a"
    assert Target("apple/m1-gpu").host is not None


def test_attributes() -> None:
    made = Target("llvm -mcpu=znver4 -num-cores 2 -mattr=+avx2,-sse4a -fast-math")
    assert (made.mcpu, made.num_cores, made.features) == ("znver4", 2, ("+avx2", "-sse4a"))
    assert made.get("num_cores") == made.get("num-cores") == 2 and made.get("fast_math") is True
    assert Target("cuda").get("max_num_threads") == 1024 and Target("cuda").device_kind == "cuda"
    assert Target("llvm").num_cores >= 1
    with pytest.raises(AttributeError):
        made.kind = "c"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("lvm", "did you mean `llvm`"),
        ("llvm -mcp=x", "did you mean `mcpu`"),
        ("llvm x", "no attribute"),
        ("", "empty"),
        ("llvm -num-cores=many", "an integer"),
        ("llvm -fast-math=maybe", "true or false"),
        ({"kind": "llvm", "mcpu": 3}, "a string"),
        ({"kind": "llvm", "num-cores": True}, "an integer"),
        ({"mcpu": "x"}, "kind"),
        ({"tag": "nvidia/h100"}, "did you mean `nvidia/nvidia-h100`"),
        ("{broken", "JSON"),
        (3, "int"),
    ],
)
def test_what_is_refused(spec: object, word: str) -> None:
    with pytest.raises(TargetError, match=word):
        Target(spec)  # type: ignore[arg-type]


def test_scopes() -> None:
    assert Target.current() is None
    with Target("llvm") as outer, Target("c") as inner:
        assert Target.current() is inner and outer is not inner
    assert Target.current() is None
    with pytest.raises(TargetError, match="in scope"):
        Target.current(allow_none=False)


def test_register_tag() -> None:
    made = register_tag("tests/machine", {"kind": "llvm", "mcpu": "x"}, override=True)
    assert Target("tests/machine -num-cores=3").mcpu == "x" and made.mcpu == "x"
    with pytest.raises(TargetError, match="taken"):
        register_tag("tests/machine", {"kind": "llvm"})


def test_detect() -> None:
    here = Target.detect()
    assert here.kind == "llvm" and here.mcpu and here.num_cores >= 1 and here is Target.detect()
