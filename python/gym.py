"""The announced name of the package: ``from gym import DistributedTrainer``.

A single file beside the package ``zoo_gym``. Where another package named ``gym`` is installed, that
one wins and nothing of it is overwritten; ``import zoo_gym`` works everywhere.
"""

from zoo_gym import *  # noqa: F401,F403
from zoo_gym import __all__, __version__  # noqa: F401
