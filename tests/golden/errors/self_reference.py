@I.ir_module
class M:
    @T.prim_func
    def f(o: T.Buffer((1,), "int32")):
        loopy: T.let[T.int32] = T.Select(loopy > 0, 150, 1)  # error: undefined-name
        o[0] = loopy
