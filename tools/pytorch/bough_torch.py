# SPDX-License-Identifier: BSL-1.0
"""Registers the backend "bough" of torch.distributed: import bough_torch, then
init_process_group("bough"). doc/howto/pytorch.md of bough says more.

Environment, read when a group is made, and to be the same on all ranks:
  BOUGH_TORCH_SAME_BITS=1         sums do not depend on bucket sizes or on an element's place
  BOUGH_TORCH_ACCUMULATE=float    sums of float16 and bfloat16 are rounded once
"""
import atexit
import datetime
import os

import torch
import torch.distributed as dist

import _bough_torch


def _create(store, rank, size, timeout):
    accumulate = os.environ.get("BOUGH_TORCH_ACCUMULATE", "")
    if accumulate not in ("", "float"):
        raise ValueError("BOUGH_TORCH_ACCUMULATE: must be 'float' or empty, not %r" % accumulate)
    same_bits = os.environ.get("BOUGH_TORCH_SAME_BITS", "0")
    if same_bits not in ("", "0", "1"):
        raise ValueError("BOUGH_TORCH_SAME_BITS: must be 0 or 1, not %r" % same_bits)
    return _bough_torch.make(store, rank, size, timeout, same_bits == "1", accumulate == "float")


def monitored_barrier(group=None, timeout=datetime.timedelta(seconds=30)):
    """A barrier that says, if it fails, which rank is missing. The group is of no use then."""
    _bough_torch.monitored_barrier(group if group is not None else dist.distributed_c10d._get_default_group(), timeout)


atexit.register(_bough_torch.stop_helpers)
if not hasattr(dist.Backend, "BOUGH"):
    dist.Backend.register_backend("bough", _create)
