"""Train models on a Gym network, or on this machine with the same bits.

    from gym import DistributedTrainer
    trainer = DistributedTrainer(model="llama-160m", dataset="zoo-dataset-v2", nodes=100,
                                 budget_tokens=1e9)
    trainer.train()

docs/PYTHON.md is the manual.
"""

from ._zoo_gym import __version__
from .callbacks import Callback, Loss
from .dataset import Dataset, DatasetInfo, MixShare
from .errors import (
    AlreadyExistsError,
    CancelledError,
    ConflictError,
    DivergedError,
    GymError,
    InsufficientFundsError,
    InternalError,
    InvalidArgumentError,
    IoError,
    MalformedError,
    MismatchError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ShapeMismatchError,
    TimedOutError,
    UnauthenticatedError,
    UnavailableError,
)
from .model import Model
from .node import Finding, Node, NodeStatus
from .registry import DatasetRegistry
from .settings import Network
from .tokenizer import Tokenizer
from .trainer import DistributedTrainer
from .training import Evaluation, Quote, TrainingResult, TrainingStatus

__all__ = [
    "AlreadyExistsError",
    "Callback",
    "CancelledError",
    "ConflictError",
    "Dataset",
    "DatasetInfo",
    "DatasetRegistry",
    "DistributedTrainer",
    "DivergedError",
    "Evaluation",
    "Finding",
    "GymError",
    "InsufficientFundsError",
    "InternalError",
    "InvalidArgumentError",
    "IoError",
    "Loss",
    "MalformedError",
    "MismatchError",
    "MixShare",
    "Model",
    "Network",
    "Node",
    "NodeStatus",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "Quote",
    "ShapeMismatchError",
    "TimedOutError",
    "Tokenizer",
    "TrainingResult",
    "TrainingStatus",
    "UnauthenticatedError",
    "UnavailableError",
    "__version__",
]
