# from loopwright.script import ir as I
# from loopwright.script import tirx as T
# from loopwright.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "tag": ""}, 0, "global")]})
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] * T.float32(2.0)

    @R.function(pure=False)
    def effects(x: R.Tensor((4,), dtype="float32"), c: T.bool) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        R.print(x, 1, format=R.str("{} {}"))
        R.assert_op(c, (x,), format=R.str("wrong: {}"))
        a: R.Tensor((4,), dtype="float32") = R.call_packed("my.function", x, (x, x), T.float32(1.0), axis=3, ty_args=(R.Tensor((4,), dtype="float32"),))
        b: R.Any = R.call_packed("my.other", a)
        k: R.Any = R.make_closure(cls.pure, (x,))
        l: R.Tensor((4,), dtype="float32") = R.invoke_closure(k, (x,), ty_args=(R.Tensor((4,), dtype="float32"),))
        d: R.Tensor((4,), dtype="float32") = R.call_builtin_with_ctx("vm.builtin.x", (x, 3), ty_args=(R.Tensor((4,), dtype="float32"),))
        e: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        s: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
        t: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(s, 0, R.shape([4]), R.dtype("float32"), 0)
        cls.kernel(x, t)
        R.memory.kill_tensor(t)
        R.memory.kill_storage(s)
        u: R.Any = R.vm.alloc_storage(R.shape([16]), 0, R.dtype("float32"), R.str("global"))
        v: R.Tensor((4,), dtype="float32") = R.vm.alloc_tensor(u, 0, R.shape([4]), R.dtype("float32"), 0)
        R.vm.call_tir_dyn(cls.kernel, (x, v))
        R.vm.kill_object(u)
        return v

    @R.function
    def pure(x: R.Tensor((4,), dtype="float32"), q: R.Tensor((2,), dtype="int64")) -> R.Tensor(dtype="float32", ndim=2):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.kernel, (a, x), out_ty=R.Tensor((4,), dtype="float32"), inplace_indices=[1])
            c1: R.Tensor((4,), dtype="float32") = R.call_tir_with_grad(cls.kernel, (b,), out_ty=R.Tensor((4,), dtype="float32"), te_grad_name="twice", te_grad_kwargs={"k": 1})
            d = R.call_dps_packed("my.dps", (c1,), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((2,), dtype="int32")])
            e: R.Tensor((4,), dtype="float32") = R.call_pure_packed("my.pure", d, 3, R.str("s"), R.shape([2, 4]), R.dtype("float16"), ty_args=(R.Tensor((4,), dtype="float32"),))
            g: R.Tensor((4,), dtype="float32") = R.call_inplace_packed("my.inplace", e, inplace_indices=[0], ty_args=(R.Tensor((4,), dtype="float32"),))
            h: R.Tensor((4,), dtype="float32") = R.call_py_func(R.str("my_function"), (g,), out_ty=R.Tensor((4,), dtype="float32"))
            i: R.Tensor((4,), dtype="float32", vdevice="llvm:0:global") = R.to_vdevice(h, dst_vdevice="llvm:0:global")
            j: R.Tensor((4,), dtype="float32", vdevice="llvm:0:global") = R.hint_on_device(i, dst_vdevice="cpu:0", memory_scope="global")
            k: R.Any = R.make_closure(cls.pure, (x,))
            l: R.Tensor((4,), dtype="float32") = R.invoke_pure_closure(k, (j,), ty_args=(R.Tensor((4,), dtype="float32"),))
            m: R.Shape(ndim=2) = R.tensor_to_shape(q)
            n: R.Tensor(m, dtype="float32") = R.reshape(l, m)
            R.output(n)
        return n
