from zoo_gym import *
from zoo_gym import __all__ as __all__
from zoo_gym import __version__ as __version__
