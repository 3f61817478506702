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
        ("llvm x", "expected an attribute"),
        ("", "empty"),
        ("llvm -num-cores=many", "an integer"),
        ("llvm -fast-math=maybe", "true or false"),
        ({"kind": "llvm", "mcpu": 3}, "a string"),
        ({"kind": "llvm", "num-cores": True}, "an integer"),
        ({"mcpu": "x"}, "kind"),
        ({"tag": "nvidia/titan-v"}, "nvidia/nvidia-titan-v"),
        ("{broken", "never closed"),
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


class TestPlaces:
    """A wrong description points into itself."""

    @pytest.mark.parametrize(
        ("text", "part", "near"),
        [
            ("lvm -mcpu=x", "lvm", "llvm"),
            ("llvm -num-cores=2 -mcp=x", "-mcp=x", "mcpu"),
            ("llvm --mcp x -num-cores 2", "--mcp x", "mcpu"),
            ("llvm -num-cores=many -mcpu=x", "-num-cores=many", ""),
            ('{"kind": "llvm", "mcp": "x"}', '"mcp": "x"', "mcpu"),
            ("{'kind': 'llvm', 'num-cores': 'many'}", "'num-cores': 'many'", ""),
            ('{"kind": "lvm"}', '"kind": "lvm"', "llvm"),
            ('{"tag": "nvidia/titan-v"}', '"tag": "nvidia/titan-v"', "nvidia/nvidia-titan-v"),
            ("llvm mcpu", "mcpu", ""),
            ("llvm -mcpu='x", "'x", ""),
            ("webgpu -thread_warp_size=32", "-thread_warp_size=32", ""),
        ],
    )
    def test_the_part_that_is_wrong(self, text: str, part: str, near: str) -> None:
        with pytest.raises(TargetError) as caught:
            Target(text)
        [found] = caught.value.diagnostics
        assert found.span is not None and found.source is not None
        assert text[found.span.column - 1 : found.span.end_column - 1].startswith(part[:3])
        assert found.span.column == text.index(part) + 1
        assert not near or f"`{near}`" in found.help[0]

    @given(ATTRS, st.data())
    def test_a_wrong_name_among_right_ones(self, attrs: dict[str, object], data: st.DataObject) -> None:
        words = [f"-{k}={','.join(v) if isinstance(v, list) else v}" for k, v in attrs.items()]
        words.insert(data.draw(st.integers(0, len(words))), "-wrong=1")
        text = " ".join(["llvm", *words])
        with pytest.raises(TargetError, match="no attribute `wrong`") as caught:
            Target(text)
        span = caught.value.diagnostics[0].span
        assert span is not None and text[span.column - 1 : span.end_column - 1] == "-wrong=1"


def test_the_host() -> None:
    here = Target.host()
    assert here is Target.detect() and here.host is None
    assert here.vector_width in (128, 256, 512) or here.vector_width % 128 == 0
    assert all(here.get(f"l{k}_cache_size_bytes", 1 << 12) >= 1 << 12 for k in (1, 2, 3))
    assert Target("llvm", host="c").host == Target("c") and Target("llvm").host is None


@pytest.mark.parametrize(
    ("target", "width"),
    [
        ("llvm", 128),
        ("llvm -mattr=+avx2,+fma", 256),
        ("llvm -mattr=+avx512f,+avx2", 512),
        ("llvm -mattr=-avx2", 128),
        ("llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b", 256),
        ("llvm -vector-width=1024 -mattr=+avx2", 1024),
    ],
)
def test_vector_width(target: str, width: int) -> None:
    assert Target(target).vector_width == width


@pytest.mark.parametrize(
    ("target", "keys"),
    [
        ("llvm", ("cpu",)),
        ("llvm -mtriple=aarch64-linux-gnu", ("arm_cpu", "cpu")),
        ("c -mcpu=cortex-m55", ("arm_cpu", "cpu")),
        ("llvm -device=riscv_cpu", ("riscv_cpu", "cpu")),
        ("opencl -device=adreno", ("adreno", "opencl", "gpu")),
        ("llvm -keys=x86,cpu", ("x86", "cpu")),
        ("arm/rk3399", ("arm_cpu", "cpu")),
    ],
)
def test_keys(target: str, keys: tuple[str, ...]) -> None:
    assert Target(target).keys == keys


def test_families_of_tags() -> None:
    found = list_tags()
    short = {"nvidia/h100", "nvidia/h200"}
    assert len([n for n in found if n.startswith("nvidia/") and n not in short]) == 246
    for name in short:
        assert found[name] == found[name.replace("/", "/nvidia-")] and found[name].get("arch") == "sm_90a"
    assert found["nvidia/jetson-agx-thor"].host == Target(
        "llvm -keys=arm_cpu,cpu -mtriple=aarch64-linux-gnu -mcpu=neoverse-v3ae -num-cores=14"
    )
    assert found["qcom/hexagon-v68"].get("vtcm-capacity") == 4 << 20
    assert found["riscv/sifive-e31"].get("mtriple") == "riscv32-unknown-linux-gnu"
    assert Target({"tag": "nvidia/nvidia-a100", "l2_cache_size_bytes": 5}).get("l2_cache_size_bytes") == 5
    assert Target("webgpu -supports_subgroups").get("thread_warp_size") == 32


def test_devices_of_a_composite() -> None:
    made = Target({"kind": "composite", "devices": ["cuda", {"kind": "llvm", "mcpu": "x"}]})
    assert made.get("devices") == (Target("cuda"), Target("llvm -mcpu=x")) and Target(str(made)) == made
