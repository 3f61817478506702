# option: indent_spaces=2
# from loopwright.script import tirx as T

@T.prim_func
def wide(A: T.Buffer((16,), "float32")):
  for i in range(16):
    A[i] = T.float32(1.0)
