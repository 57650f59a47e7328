"""The wheel and the Debian package: what is in them, and that they work, in an environment of its own and unpacked."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import SOURCE

PYTHON = "/usr/bin/python3"


def run(*command: object, **environment: str) -> str:
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], env=kept | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    output = tmp_path_factory.mktemp("packages")
    made = run(SOURCE / "scripts/python_package.sh", os.environ["GYM_BINARY_DIR"], output)
    wheel, deb = sorted(map(Path, made.split()), key=lambda path: path.suffix, reverse=True)
    return wheel, deb


def test_the_wheel_works_in_an_environment_of_its_own(packages, tmp_path):
    wheel, _ = packages
    run(PYTHON, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env/bin/python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    made = run(python, "-c", "import gym, zoo_gym; print(gym.__file__, zoo_gym._zoo_gym.__file__)")
    assert all(path.startswith(str(tmp_path / "env")) for path in made.split())
    out = run(python, SOURCE / "examples/python/pretrain_local.py", GYM_HOME=str(tmp_path))
    assert "final state root 0x" in out
    listed = run(python, "-m", "pip", "show", "--files", "zoo-gym")
    assert "Version: " in listed and "gym.py" in listed


def test_the_debian_package_works_where_it_is_unpacked(packages, tmp_path):
    _, deb = packages
    run("dpkg", "-x", deb, tmp_path / "root")
    installed = tmp_path / "root/usr/lib/python3/dist-packages"
    environment = {"PYTHONPATH": str(installed), "GYM_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    made = run(PYTHON, "-c", "import gym, zoo_gym; print(gym.__file__, zoo_gym._zoo_gym.__file__)", **environment)
    assert all(path.startswith(str(installed)) for path in made.split())
    out = run(PYTHON, SOURCE / "examples/python/pretrain_local.py", **environment)
    assert "final state root 0x" in out
    run(PYTHON, "-c", "import zoo_gym._zoo_gym_node", **environment)


def test_the_wheel_holds_the_package_and_nothing_else(packages):
    wheel, _ = packages
    assert f"cp{sys.version_info.major}{sys.version_info.minor}" in wheel.name
    assert "linux" in wheel.name, "it is bound to the machine"
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"zoo_gym", "gym.py", "gym-stubs", wheel.name.split("-cp")[0] + ".dist-info"}
    assert {"zoo_gym/py.typed", "zoo_gym/_zoo_gym.pyi", "gym-stubs/__init__.pyi"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith("mypy.ini")]


def test_the_debian_package_names_what_it_needs(packages):
    _, deb = packages
    control = run("dpkg-deb", "--field", deb)
    assert "Package: python3-zoo-gym" in control
    for library in ("libdnnl", "libssl3", "libc6"):
        assert library in control, library
    assert "torch" not in control
    content = run("dpkg-deb", "--contents", deb)
    assert "./usr/lib/python3/dist-packages/zoo_gym/__init__.py" in content
    assert "./usr/lib/python3/dist-packages/gym.py" in content
