"""The project itself: packaging, order of imports, sizes, style, types, and what an import costs."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopwright

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = Path(loopwright.__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DATA = {".lark", ".pyi", ".h", ".cpp"}
NOT_ROOMS = {"tests", "docs", "bench", "build", "dist"}
MODULE_LINES = 800
FUNCTION_LINES = 60
TEST_COMMAND = "python -m pip install '.[test]' && python -m pytest -n auto"


def in_tree() -> list[str]:
    """The packages that lie in the tree, by import name."""
    found = ["loopwright"]
    for init in sorted(ROOT.glob("[!.]*/**/__init__.py")):
        parts = init.parent.relative_to(ROOT).parts
        if parts[0] not in NOT_ROOMS and not parts[0].endswith(".egg-info"):
            found.append(".".join(("loopwright", *parts)))
    return found


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


def package_modules() -> Iterator[Path]:
    """Every Python file that the wheel will hold."""
    for package in in_tree():
        yield from sorted(folder_of(package).glob("*.py"))


def run(*command: str, cwd: Path | str = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=280
    )


def must_pass(result: subprocess.CompletedProcess[str], strip: str = "") -> str:
    output = (result.stdout + result.stderr).replace(strip, "") if strip else result.stdout + result.stderr
    if result.returncode:
        pytest.fail(output, pytrace=False)
    return output


def tracked_files() -> list[Path]:
    """What git knows or would add. Skips where there is no repository, such as an unpacked source archive."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listing = run(
        git, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"
    )
    if listing.returncode:
        pytest.skip(f"git cannot list this checkout: {listing.stderr.strip()}")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.fixture(scope="module")
def as_installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `loopwright/` shows the checkout's package and nothing of what lies beside it.

    Tools that map files to module names go by folder names, and a checkout may be called anything.
    """
    site = tmp_path_factory.mktemp("site")
    view = site / "loopwright"
    view.mkdir()
    for item in ROOT.iterdir():
        if item.suffix == ".py" or item.name == "py.typed" or (item / "__init__.py").is_file():
            (view / item.name).symlink_to(item)
    (site / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    return site


# Packaging


def test_packages_are_the_tree() -> None:
    listed, found = PROJECT["tool"]["setuptools"]["packages"], in_tree()
    wanted = "packages = [\n" + "".join(f'    "{name}",\n' for name in found) + "]"
    assert listed == found, f"[tool.setuptools] in pyproject.toml must say\n{wanted}"


def test_folders_of_tests_and_documents_are_no_packages() -> None:
    stray = [
        str(path.relative_to(ROOT))
        for name in ("tests", "docs")
        for path in (ROOT / name).rglob("__init__.py")
    ]
    assert stray == []


def test_version_is_said_once() -> None:
    assert loopwright.__version__ == PROJECT["project"]["version"]


def test_the_package_under_test_is_this_checkout() -> None:
    """An installed copy that has fallen behind would be tested in place of what one reads here."""
    here = {path.relative_to(ROOT): path.read_bytes() for path in package_modules()}
    tested = {path: (INSTALLED / path).read_bytes() for path in here if (INSTALLED / path).is_file()}
    if INSTALLED != ROOT:
        tested |= {path.relative_to(INSTALLED): path.read_bytes() for path in INSTALLED.rglob("*.py")}
    differ = sorted(str(path) for path in here.keys() | tested.keys() if here.get(path) != tested.get(path))
    assert differ == [], f"{INSTALLED} is not this checkout: run `make clean` and install again"


def test_the_readme_gives_the_test_command_that_ci_runs() -> None:
    assert TEST_COMMAND in (ROOT / "README.md").read_text(encoding="utf-8")
    assert TEST_COMMAND in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.slow
def test_wheel_works_outside_the_checkout(tmp_path: Path) -> None:
    """Build from a copy, so that nothing lands in the checkout and no stale build folder is packed."""
    source, wheels, site = tmp_path / "source", tmp_path / "wheels", tmp_path / "site"
    copy_package(source)
    must_pass(run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(wheels), cwd=source))
    [wheel] = wheels.iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("loopwright/")}
        archive.extractall(site)
    data = {
        str(path.relative_to(ROOT))
        for package in in_tree()
        for path in folder_of(package).iterdir()
        if path.suffix in DATA
    }
    code = {str(path.relative_to(ROOT)) for path in package_modules()}
    assert names == {f"loopwright/{name}" for name in {"py.typed", *code, *data}}
    smoke = "import loopwright; print(loopwright.__file__); print(loopwright.Span)"
    output = must_pass(run(sys.executable, "-c", smoke, cwd=tmp_path, PYTHONPATH=str(site)))
    assert output.startswith(str(site))


# What an import does


def test_public_names_have_one_table() -> None:
    """The table of homes, the imports for type checkers and `__all__` name the same things."""
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    [guarded] = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.asname: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == loopwright._HOMES
    assert sorted(loopwright.__all__) == sorted({"__version__", *typed})


@pytest.mark.parametrize("name", sorted(loopwright._HOMES))
def test_public_name_is_at_home(name: str) -> None:
    home = importlib.import_module(f"loopwright.{loopwright._HOMES[name]}")
    assert getattr(loopwright, name) is getattr(home, name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        loopwright.no_such_name


def test_import_loads_nothing_heavy() -> None:
    """Neither the package nor its language rooms; how long it takes is measured in bench/."""
    rooms = ("loopwright", "loopwright.ir", "loopwright.printer", "loopwright.script")
    imports = ", ".join(name for name in rooms if name in in_tree())
    heavy = "{'numpy', 'lark', 'llvmlite', 'ml_dtypes', 'cupy', 'torch'}"
    program = f"import sys, {imports}; print(sorted({heavy} & set(sys.modules)))"
    assert must_pass(run(sys.executable, "-c", program)).strip() == "[]"


def loaded_twice() -> dict[str, list[str]]:
    """Files of the package that are loaded under several names, or under one that is not `loopwright...`."""
    names = defaultdict(list)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        path = Path(file).resolve() if file else None
        # Modules without a file may name one that does not exist, as torch.ops does.
        if path and path.is_file() and any(path.is_relative_to(root) for root in (ROOT, INSTALLED)):
            relative = path.relative_to(ROOT if path.is_relative_to(ROOT) else INSTALLED)
            if relative.parts[0] not in NOT_ROOMS and not relative.parts[0].startswith("."):
                names[str(relative)].append(name)
    return {
        file: found
        for file, found in names.items()
        if len(found) > 1 or found[0].split(".")[0] != "loopwright"
    }


def test_no_module_is_loaded_twice() -> None:
    assert loaded_twice() == {}


def copy_package(target: Path) -> None:
    """The package's own files and the project's metadata, without what a build or an editor left about."""
    for package in in_tree():
        folder = target / folder_of(package).relative_to(ROOT)
        folder.mkdir(parents=True)
        for path in folder_of(package).iterdir():
            if path.suffix in {".py", *DATA} or path.name == "py.typed":
                shutil.copy2(path, folder)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, target)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["anything-else", "loopwright"])
def test_checkout_may_have_any_name(folder: str, tmp_path: Path) -> None:
    """pytest in a checkout of that name imports `loopwright` once, and the root under no other name."""
    checkout = tmp_path / "elsewhere" / folder
    copy_package(checkout)
    tests = checkout / "tests" / "room"
    tests.mkdir(parents=True)
    probe = """
        import os, sys
        import loopwright.errors, loopwright.node

        def test_probe():
            root = __file__.rsplit("/tests/", 1)[0]
            files = {n: getattr(m, "__file__", None) or "" for n, m in sys.modules.items()}
            inside = {n: os.path.realpath(f) for n, f in files.items() if f}
            inside = {n: f for n, f in inside.items() if f.startswith(root + "/")}
            strays = [n for n in inside if n.split(".")[0] != "loopwright" and n != __name__]
            assert not strays and len(set(inside.values())) == len(inside)
            assert inside["loopwright"] == root + "/__init__.py"
    """
    (tests / "test_probe.py").write_text(textwrap.dedent(probe), encoding="utf-8")
    site = tmp_path / "site"
    site.mkdir()
    (site / "loopwright").symlink_to(checkout)
    view = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=checkout, PYTHONPATH=str(site)
    )
    assert "1 passed" in must_pass(view)


def test_imports_inside_the_package_are_relative() -> None:
    absolute = []
    for path in package_modules():
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if any(name.split(".")[0] == "loopwright" for name in names):
                absolute.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert absolute == []


def test_rooms_import_downwards_only(as_installed: Path) -> None:
    """The contract stands in pyproject.toml, with the few named exceptions."""
    program = "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"
    must_pass(run(sys.executable, "-c", program, cwd=as_installed, PYTHONPATH=str(as_installed)))


# Sizes


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    """Each function's qualified name and its lines, the docstring not counted."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = prefix + node.name
            if not isinstance(node, ast.ClassDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if ast.get_docstring(node, clean=False) is not None:
                    lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
                yield name, lines
            yield from functions(node, name + ".")
        else:
            yield from functions(node, prefix)


def test_size_budget() -> None:
    """What is larger than the budget has its reason in size.toml, and nothing else stands there."""
    reasons = tomllib.loads((ROOT / "tests" / "size.toml").read_text(encoding="utf-8"))
    large_modules, large_functions = {}, {}
    for path in package_modules():
        text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        if (lines := text.count("\n")) > MODULE_LINES:
            large_modules[name] = lines
        for function, lines in functions(ast.parse(text)):
            if lines > FUNCTION_LINES:
                large_functions[f"{name}::{function}"] = lines
    for kind, large in (("modules", large_modules), ("functions", large_functions)):
        unexplained = {name: lines for name, lines in large.items() if name not in reasons[kind]}
        assert unexplained == {}, f"{kind}: make it smaller, or give the reason in tests/size.toml"
        assert set(reasons[kind]) - set(large) == set(), (
            f"{kind}: no longer large, take it out of tests/size.toml"
        )


# Style and types


def test_ruff_check() -> None:
    must_pass(run(sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise", str(ROOT)))


def test_ruff_format() -> None:
    must_pass(run(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", str(ROOT)))


@pytest.mark.slow
def test_types(as_installed: Path) -> None:
    must_pass(
        run(
            *(sys.executable, "-m", "mypy", "--cache-dir", str(ROOT / ".mypy_cache"), "-p", "loopwright"),
            cwd=as_installed,
            MYPYPATH=str(as_installed),
        ),
        strip=f"{as_installed}/",
    )


PROGRAM = """
from loopwright import Schedule
from loopwright.schedule import LoopRV, SBlockRV

def tile(sch: Schedule) -> LoopRV:
    block: SBlockRV = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    outer, inner = sch.split(i, factors=[None, 4])
    sch.reorder(outer, j, inner)
    sch.compute_at("B", outer, preserve_unit_loops=True)
    return sch.fuse(outer, j)
"""
WRONG = {
    "sch.splitt(sch.get_loops('C')[0], [2])": "has no attribute",
    "sch.split(sch.get_loops('C')[0], factor=[2])": "Unexpected keyword argument",
    "sch.parallel('C')": "incompatible type",
    "sch.parallel(sch.get_sblock('C'))": "incompatible type",
    "sch.fuse(*sch.get_loops('C')).target.nothing": "has no attribute",
    "sch.bind(sch.get_loops('C')[0])": "Missing positional argument",
}


@pytest.mark.slow
def test_type_checkers_know_the_methods_of_schedules(as_installed: Path, tmp_path: Path) -> None:
    """A program is accepted; of lines that are wrong each is an error of its own."""
    program = tmp_path / "program.py"
    lines = [*PROGRAM.splitlines(), "", "def wrong(sch: Schedule) -> None:", *[f"    {x}" for x in WRONG]]
    program.write_text("\n".join(lines) + "\n")
    command = (sys.executable, "-m", "mypy", "--cache-dir", str(ROOT / ".mypy_cache"), str(program))
    result = run(*command, cwd=as_installed, MYPYPATH=str(as_installed))
    found = {int(m[1]): m[2] for m in re.finditer(r"^.*program\.py:(\d+): error: (.*)$", result.stdout, re.M)}
    first = len(lines) - len(WRONG) + 1
    assert list(found) == [first + k for k in range(len(WRONG))], result.stdout
    for message, wanted in zip(found.values(), WRONG.values(), strict=True):
        assert wanted in message


# Documents and words


@pytest.mark.slow
def test_documents_build_without_a_warning(tmp_path: Path) -> None:
    must_pass(run(sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-b", "html", "docs", str(tmp_path)))


FORBIDDEN = {
    "an absolute path of one machine": r"(?<![\w.\-/<])/(?:work|farm|home|root|mnt|Users|srv|tmp)/\w",
    "a private address": r"\b(?:10\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d+\.\d+\b",
    "a private host": r"https?://[\w.\-]*\.(?:internal|corp|lan|local)\b",
}


def test_nothing_points_to_one_machine() -> None:
    found = []
    for path in tracked_files():
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in FORBIDDEN.items():
                if re.search(pattern, line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {what}: {line.strip()[:80]}")
    assert found == []
