@T.macro
def again(A):
    again(A)  # error: static-limit


@T.prim_func
def macro_depth(A: T.Buffer((8,), "float32")):
    again(A)
