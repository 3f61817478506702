@R.function
def unbound(x: R.Tensor((4,), "float32")):
    R.exp(x)  # error: unbound-value
    x  # error: unbound-value
    R.match_cast(x, R.Tensor((4,), "float32"))  # error: unbound-value
    return x


@R.function
def branches(x: R.Tensor((4,), "float32"), c: R.Prim("bool"), f: R.Tensor((4,), "bool")):
    if c:  # error: missing-else
        y = R.exp(x)
    if c:  # error: branch-names
        y = R.exp(x)
    else:
        z = R.exp(x)
    if f:  # error: condition-type
        w = R.exp(x)
    else:
        w = x
    if c:
        return x  # error: inner-return
    else:
        v = x
    return R.add(y, R.add(z, R.add(w, v)))


@R.function
def flow(x: R.Tensor((4,), "float32"), c: R.Prim("bool")):
    R.output(x)  # error: outside-dataflow
    with R.dataflow():
        y = R.exp(x)
        with R.dataflow():  # error: dataflow-block
            z = R.exp(x)
        if c:  # error: dataflow-block
            z = R.exp(x)
        else:
            z = x
        R.output(x)  # error: dataflow-output
        R.output(y)
        w = R.exp(y)  # error: after-output
    return y


@R.function
def hidden(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        z = R.exp(y)
        R.output(z)
    return R.add(y, z)  # error: undefined-name


@R.function
def types(x: R.Tensor((2, 3), "float32"), n: R.Prim("int64")):
    a = R.add(x, R.const([1.0, 2.0], "float32"))  # error: operator-shapes
    b = R.add(x, R.const(1, "int32"))  # error: operator-types
    c: R.Tensor((2, 4), "float32") = R.exp(x)  # error: annotation-mismatch
    d: R.Shape = x  # error: annotation-mismatch
    e = x + 1  # error: type-mismatch
    f = R.exp(x, 3)  # error: operator-arguments
    g = R.exp(y=x)  # error: operator-arguments
    h = R.no_such(x)  # error: unknown-attribute
    i = n(x)  # error: not-callable
    j, k = x  # error: not-iterable
    l, m = R.split(x, 3, axis=1)  # error: unpacking
    o = p = x  # error: chained-assignment
    x[0] = x  # error: invalid-target
    q: R.Tensor((2, 3), "float32")  # error: no-value
    r = T.int32()
    s = R.shape([r])
    t: 3 = x  # error: annotation
    return x
    u = R.exp(x)  # error: after-return


@R.function
def syntax(x: R.Tensor((4,), "float32")):
    for i in range(3):  # error: unsupported-syntax
        y = x
    while True:  # error: unsupported-syntax
        y = x
    assert True  # error: unsupported-syntax
    with x:  # error: with-frame
        y = x
    T.evaluate(0)  # error: kernel-statement
    break  # error: outside-loop
    def inner(y):  # error: undecorated
        return y

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):  # error: nested-function
        A[0] = 0.0

    return x


@R.function
def symbols(x: R.Tensor(("n", "k + 1"), "float32"), m: R.Prim("int32")):  # error: undefined-name
    return x


@R.function
def sizes(
    x: R.Tensor(("n",), "float32"),
    n: R.Prim("int64"),  # error: duplicate-definition
    y: R.Tensor((2, 3), "float32", ndim=3),  # error: rank
    z: R.Tensor(ndim=-2),  # error: rank
    w,  # error: annotation-required
    v: R.Tensor("float33"),  # error: unknown-dtype
    u: R.Tensor((2,), "float32", "cuda:0"),  # error: unknown-vdevice
):
    return x


@R.function
def dtypes(x: R.Tensor(("n",), "float32")):
    n = T.int32()  # error: symbol-type
    m = T.int32()
    y = R.match_cast(x, R.Tensor((m,), "float32"))  # error: symbol-type
    z = R.match_cast(x, R.Tensor(("j",), "float32"))  # error: undefined-name
    return x


@R.function  # the result never has the declared type
def result(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 4), "float32"):
    return x  # error: return-type


@R.function
def nothing(x: R.Tensor((2, 3), "float32")):  # error: missing-return
    y = R.exp(x)


@R.function(private=True)
def private(x: R.Tensor((2, 3), "float32")):
    R.func_attr({"global_symbol": "main"})  # error: private-symbol
    R.func_attr({"a": 1})
    R.func_attr({"a": 2})  # error: duplicate-declaration
    return x
