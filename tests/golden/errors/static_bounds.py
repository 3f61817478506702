@T.prim_func
def static_bounds(A: T.Buffer((8,), "float32")):
    A[0] = 2**10**9  # error: static-limit
    A[0] = 1 << 10**9  # error: static-limit
    A[0] = len("a" * 10**12)  # error: static-limit
    A[0] = sum(range(10**9))  # error: static-limit
    A[0] = sum([1 for i in range(10**9)])  # error: static-limit
    A[0] = (lambda f: f(f))(lambda f: f(f))  # error: static-limit
