"""Packs what CMake built (scripts/python_package.sh). The rest of the settings is in pyproject.toml, which has no way
to name a package of stubs."""

from setuptools import Distribution, setup


class BuiltDistribution(Distribution):
    """Its extension modules are there already; they tie the wheel to this Python and machine."""

    def has_ext_modules(self):
        return True


setup(
    distclass=BuiltDistribution,
    packages=["zoo_gym", "gym-stubs"],
    py_modules=["gym"],
    package_data={"zoo_gym": ["*.so", "*.pyi", "py.typed"], "gym-stubs": ["*.pyi"]},
)
