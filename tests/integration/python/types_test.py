"""The package is typed: mypy reads its annotations, and finds mistakes of its users."""

import ast
import importlib
import os
import subprocess
import types
from pathlib import Path

import pytest
from conftest import SOURCE

CONFIG = SOURCE / "python/mypy.ini"


def mypy(cache: Path, *paths: object) -> tuple[int, str]:
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "mypy", "--config-file", CONFIG, "--cache-dir", cache, *paths],
        capture_output=True, text=True, timeout=100,
        env=os.environ | {"MYPYPATH": str(SOURCE / "python")},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def test_the_package_and_its_examples_pass_the_strict_checks(cache):
    for path in (SOURCE / "python/zoo_gym", SOURCE / "examples/python"):
        code, output = mypy(cache, path)
        assert code == 0, output


def test_mistakes_of_users_are_found(cache, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from gym import DistributedTrainer\n"
        "trainer = DistributedTrainer(model='gpt-nano', dataset='d', node=3)\n"
        "trainer.train().losses[0].values\n"
    )
    code, output = mypy(cache, wrong)
    assert code == 1
    assert 'Unexpected keyword argument "node"' in output
    assert '"Loss" has no attribute "values"' in output


def described(stub: Path) -> dict[str, set[tuple[str, bool]]]:
    """Of each class, and of the module ("", no methods), the public names; True: a property or value."""
    out: dict[str, set[tuple[str, bool]]] = {"": set()}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = [(m.name, bool(m.decorator_list) and m.decorator_list[0].id == "property")
                       for m in node.body if isinstance(m, ast.FunctionDef)]  # fmt: skip
            fields = [(m.target.id, True) for m in node.body if isinstance(m, ast.AnnAssign)]
            out[node.name] = {(name, value) for name, value in members + fields if name[0] != "_"}
        elif isinstance(node, ast.FunctionDef):
            out[""].add((node.name, False))
    return out


def there(module: types.ModuleType) -> dict[str, set[tuple[str, bool]]]:
    """The same of the module itself."""
    out: dict[str, set[tuple[str, bool]]] = {"": set()}
    for name, value in vars(module).items():
        if isinstance(value, type):
            out[name] = {(n, isinstance(v, property)) for n, v in vars(value).items() if n[0] != "_"}
        elif callable(value):
            out[""].add((name, False))
    return out


@pytest.mark.parametrize("name", ["_zoo_gym", "_zoo_gym_node"])
def test_the_extension_modules_have_what_their_stubs_say(name):
    module = importlib.import_module(f"zoo_gym.{name}")
    assert described(SOURCE / f"python/zoo_gym/{name}.pyi") == there(module)
