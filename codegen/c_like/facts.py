"""What must be known of a function before it is emitted: its symbols, and which pointers it only reads."""

from __future__ import annotations

from ...ir import (
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    DeclBuffer,
    Expr,
    GlobalVar,
    IntImm,
    IterVar,
    Op,
    PointerType,
    PrimFunc,
    Var,
    walk,
)

_MOVES = frozenset(
    {
        "tirx.buffer_data",
        "tirx.address_of",
        "tirx.ptr_byte_offset",
        "tirx.handle_add_byte_offset",
        "tirx.tvm_access_ptr",
    }
)
_WRITES = {
    "tirx.s_tir.cp_async_raw": (0,),
    "tirx.s_tir.ldg32": (0,),
    "tirx.ptx_legacy.ldmatrix": (3,),
    "tirx.ptx_legacy.mma": (10,),
    "tirx.tvm_load_matrix_sync": (0,),
    "tirx.tvm_store_matrix_sync": (5,),
    "tirx.cuda.float22half2": (0,),
    "tirx.cuda.float8tohalf8": (1,),
    "tirx.cuda.half8tofloat8": (1,),
    **{f"tirx.mma_store{form}": (2,) for form in ("", "_legacy")},
}
"""The arguments that operators write through, of those that have others to read."""
_READS = frozenset({"tirx.cuda.ldg", "tirx.masked_load", "tirx.isnullptr"})


class Facts:
    """Facts of one function."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.pointers = [p for p in func.params if isinstance(p.ty, PointerType | BufferType)]
        self.symbols = self._symbols()
        self.used: set[Var] = set()
        self.read_only: set[Var] = set()
        """The buffers and pointers whose memory nothing here may change."""
        self.views: dict[Var, list[Var]] = {}
        """The buffers that a pointer parameter is seen through."""
        self.extents: dict[str, Expr] = {}
        """The thread axes with their extents."""
        self.escaped: set[Var] = set()
        """The buffers whose address something takes."""
        self.roots: dict[Var, Var] = {}
        self._scan()

    def root(self, pointer: Expr) -> Var:
        """The variable whose memory a pointer leads to; a fresh one where nobody knows."""
        return _root(pointer, self.roots)

    def _symbols(self) -> list[Var]:
        """Sizes in the types of buffer parameters that are no parameters themselves."""
        found: list[Var] = []
        for p in self.func.params:
            if isinstance(p.ty, BufferType):
                for e in (*p.ty.shape, *p.ty.strides):
                    found += [v for v in walk(e) if isinstance(v, Var) and v not in found]
        return [v for v in found if v not in self.func.params]

    def _scan(self) -> None:
        roots = self.roots
        written: set[Var] = set()
        for node in walk(self.func.body, outer_first=True):
            match node:
                case AttrStmt(attr_key="thread_extent", node=IterVar() as axis):
                    self.extents.setdefault(axis.thread_tag, node.value)
                case DeclBuffer(buffer=buffer, data=data):
                    self.escaped |= _taken(data)
                    roots[buffer] = _root(data, roots)
                    self.views.setdefault(roots[buffer], []).append(buffer)
                case Bind(var=var, value=value) if isinstance(var.ty, PointerType):
                    roots[var] = _root(value, roots)
                case BufferStore(buffer=buffer):
                    written.add(roots.get(buffer, buffer))
                case Call():
                    for a in node.args:
                        self.escaped |= _taken(a)
                    written |= _written(node, roots)
                case Var():
                    self.used.add(node)
        everything = {*self.pointers, *roots}
        self.read_only = {v for v in everything if roots.get(v, v) not in written}


def _taken(e: Expr) -> set[Var]:
    """The buffer whose address an argument takes."""
    if isinstance(e, Var) and isinstance(e.ty, BufferType):
        return {e}
    if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "tirx.address_of":
        load = e.args[0]
        return {load.buffer} if isinstance(load, BufferLoad) else set()
    return set()


def _root(e: Expr, roots: dict[Var, Var]) -> Var:
    """The variable whose memory a pointer leads to; a fresh one where nobody knows."""
    match e:
        case Var():
            return roots.get(e, e)
        case BufferLoad(buffer=buffer):
            return roots.get(buffer, buffer)
        case Call(op=Op(name=name)) if name in _MOVES:
            return _root(e.args[1 if name == "tirx.tvm_access_ptr" else 0], roots)
    return Var("unknown")


def _written(e: Call, roots: dict[Var, Var]) -> set[Var]:
    """What a call may write through the pointers that it is given."""
    name = e.op.name if isinstance(e.op, Op | GlobalVar) else ""
    if name in _READS or name in _MOVES:
        return set()
    known = _WRITES.get(name)
    args = e.args if known is None else [e.args[k] for k in known]
    out = set()
    for a in args:
        if isinstance(a, Call) and isinstance(a.op, Op) and a.op.name == "tirx.tvm_access_ptr":
            mask = a.args[4]
            if isinstance(mask, IntImm) and not mask.value & 2:
                continue
        if isinstance(a.ty, PointerType | BufferType):
            out.add(_root(a, roots))
    return out
