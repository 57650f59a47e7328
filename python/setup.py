"""Packs what CMake built (scripts/python_package.sh); settings are in pyproject.toml."""

from setuptools import Distribution, setup


class BuiltDistribution(Distribution):
    """Its extension modules are there already; they tie the wheel to this Python and machine."""

    def has_ext_modules(self):
        return True


setup(distclass=BuiltDistribution)
