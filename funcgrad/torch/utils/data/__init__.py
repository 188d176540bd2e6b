"""``torch.utils.data``: data sets, the orders in which they are read, and loaders with workers."""

from funcgrad.torch.absent import absent
from funcgrad.torch.utils.data import dataset, distributed, sampler
from funcgrad.torch.utils.data.collate import default_collate, default_convert
from funcgrad.torch.utils.data.dataloader import DataLoader
from funcgrad.torch.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from funcgrad.torch.utils.data.distributed import DistributedSampler
from funcgrad.torch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from funcgrad.torch.utils.data.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset",
    "DistributedSampler", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler",
    "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler",
    "WorkerInfo", "dataset", "default_collate", "default_convert", "distributed",
    "get_worker_info", "random_split", "sampler",
]  # fmt: skip

absent(__name__)
