@T.prim_func
def parameters(
    a,  # error: annotation-required
    b: 3,  # error: annotation
    *c: T.int32,  # error: invalid-parameter
    d: T.constexpr,  # error: constexpr
):
    T.evaluate(0)
