# from typing import TypeVar
# from loopwright.script import tirx as T
# from loopwright.script import relax as R

m = TypeVar("m")
n = TypeVar("n")
@R.function
def main(x: R.Tensor((n, 4), dtype="float32"), y: R.Tensor(("n * 2", m), dtype="float32"), c: R.Tensor((), dtype="bool"), t: R.Tuple(R.Tensor((n,), dtype="float16"), R.Tensor(ndim=2), R.Any), f: R.Callable((R.Tensor((4,), dtype="float32"),), R.Tensor, True), s: R.Shape(ndim=2), z: R.Tensor) -> R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Shape(ndim=2)):
    R.func_attr({"note": "text", "num_input": 1})
    k = T.int64()
    with R.dataflow():
        lv: R.Tensor((n, 4), dtype="float32") = R.add(x, R.const(1.0, "float32"))
        lv1: R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((n, 2), dtype="float32")) = R.split(lv, indices_or_sections=[2], axis=1)
        lv2: R.Tensor((n, 2), dtype="float32") = lv1[0]
        lv3: R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((n, 4), dtype="float32")) = lv2, lv
        lv4: R.Tensor((n * 4,), dtype="float32") = R.reshape(x, R.shape([n * 4]))
        lv_1: R.Tensor((4, n), dtype="float32") = R.permute_dims(x, axes=None)
        lv5: R.Tensor(ndim=2) = R.matmul(x, lv_1, out_dtype=None)
        gv: R.Tensor((n, 4), dtype="float32") = R.nn.softmax(lv, axis=-1)
        R.output(lv5, gv)
    w: R.Tensor((k, 4), dtype="float32") = R.match_cast(z, R.Tensor((k, 4), dtype="float32"))
    n_1 = TypeVar("n_1")
    @R.function
    def inner(a: R.Tensor((n_1, 4), dtype="float32")) -> R.Tensor((n_1, 4), dtype="float32"):
        b: R.Tensor((n_1, 4), dtype="float32") = R.exp(a)
        return b

    u: R.Tensor((n, 4), dtype="float32") = inner(gv)
    if c:
        v_1: R.Tensor((n, 4), dtype="float32") = R.multiply(u, gv)
        v: R.Tensor((n, 4), dtype="float32") = v_1
    else:
        if c:
            v0_1: R.Tensor((n, 4), dtype="float32") = R.exp(u)
            v0: R.Tensor((n, 4), dtype="float32") = v0_1
        else:
            v0: R.Tensor((n, 4), dtype="float32") = gv
        v: R.Tensor((n, 4), dtype="float32") = v0
    gv_1: R.Tensor((4,), dtype="float32") = R.zeros(R.shape([4]), dtype="float32")
    e: R.Tensor = f(gv_1)
    g: R.Tensor((n,), dtype="float16") = t[0]
    h: R.Shape([n, k + 1]) = R.shape([n, k + 1])
    i: R.Tensor((), dtype="int64") = R.const(2, "int64")
    return (v, h)
