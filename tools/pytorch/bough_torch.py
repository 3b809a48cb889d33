# SPDX-License-Identifier: BSL-1.0
"""Registers the backend "bough" of torch.distributed: import bough_torch, then
init_process_group("bough"). doc/howto/pytorch.md of bough says more.

Environment, read when a group is made; the first three must be the same on all ranks:
  BOUGH_TORCH_SAME_BITS=1         sums do not depend on bucket sizes or on an element's place
  BOUGH_TORCH_ACCUMULATE=float    sums of float16 and bfloat16 are rounded once
  BOUGH_TORCH_REPORTS=FOLDER      each rank records its calls in a file there, for doctor()
  BOUGH_SOCKET_IFNAME=eth0        tcp listens at this network interface, not on the way to the store's host
"""
import atexit
import datetime
import glob
import os

import torch
import torch.distributed as dist

import _bough_torch

_successor = None  # a group that is to be the default group and is not yet, and the default group that it came from
_made = None  # what init_process_group gets within _adopt()
_changes = 0  # of the default group; torch counts groups anew after each, and recordings need names of their own


def _create(options, _):
    if _made is not None:
        return _made
    accumulate = os.environ.get("BOUGH_TORCH_ACCUMULATE", "")
    if accumulate not in ("", "float"):
        raise ValueError("BOUGH_TORCH_ACCUMULATE: must be 'float' or empty, not %r" % accumulate)
    same_bits = os.environ.get("BOUGH_TORCH_SAME_BITS", "0")
    if same_bits not in ("", "0", "1"):
        raise ValueError("BOUGH_TORCH_SAME_BITS: must be 0 or 1, not %r" % same_bits)
    name = options.group_id if _changes == 0 else "%s-%d" % (options.group_id, _changes)
    return _bough_torch.make(options.store, options.group_rank, options.group_size, options.timeout, same_bits == "1",
                             accumulate == "float", _reports(), name, os.environ.get("BOUGH_SOCKET_IFNAME", ""))


def _reports():
    reports = os.environ.get("BOUGH_TORCH_REPORTS", "")
    if reports and not os.path.isdir(reports):
        raise ValueError("BOUGH_TORCH_REPORTS: there is no folder %r" % reports)
    return reports


def _checked(timeout):
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError("timeout: must be a datetime.timedelta, not %r" % (timeout,))
    if timeout <= datetime.timedelta(0):
        raise ValueError("timeout: must be longer than nothing, not %s" % timeout)
    return max(timeout, datetime.timedelta(milliseconds=1))


def _default():
    return dist.distributed_c10d._get_default_group()


def _group(group):
    if group is None:
        return _default()
    if not isinstance(group, dist.ProcessGroup):  # new_group() gives no group to other processes
        raise ValueError("group: this process is not in it, or it is no process group")
    return group


def monitored_barrier(group=None, timeout=datetime.timedelta(seconds=30)):
    """A barrier that says, if it fails, which rank is missing."""
    _bough_torch.monitored_barrier(_group(group), _checked(timeout))


def agree(mine, group=None, timeout=datetime.timedelta(seconds=30)):
    """True on all ranks that come in time, if all of these have said True. It works after failures, too. A rank that
    does not come within the timeout is taken for dead: its own call raises, and so does every later one."""
    return _bough_torch.agree(_group(group), bool(mine), _checked(timeout))[0]


def shrink(timeout=datetime.timedelta(seconds=30), majority=False):
    """Makes the survivors the default group. All ranks of the default group that are alive call it, after one of
    them has died; who does not come in time is left out. Operations in flight are given up. Ranks are numbered anew
    in their old order. Groups of new_group() are gone, as after destroy_process_group(): make them again, and
    DistributedDataParallel, too. With majority=True it raises unless more than half of the ranks are left: so of
    the parts of a network that has come apart at most one goes on. If it raises, it may be called again, unless it
    says that this rank was left out."""
    timeout = _checked(timeout)
    old, origin = _newest()
    _adopt(_bough_torch.shrink(old, timeout, majority), origin, timeout, majority, "shrink")


def grow(size, at, key, timeout=datetime.timedelta(seconds=30)):
    """Makes the default group and processes that call join() one group of this size, which is the default group
    then. All ranks of the default group call it, with equal arguments; if one has died, shrink() first. Who joins
    takes the lowest rank that is free, and others may have another rank than before. Groups of new_group() are gone,
    as after shrink(). If it raises before all have come, the default group is as it was. If a rank dies at the very
    end, the group is the smaller one of those that are left.

    at: "host:port", or a list of them: where ranks may listen, one for each machine that may still have a rank then.
    key: 32 bytes that only the processes of the job know, or the name of a file that has them; its mode is 0600.
    timeout: of the whole; it ends after twice that at the latest, and a little more."""
    timeout = _checked(timeout)
    old, origin = _newest()
    _adopt(_bough_torch.grow(old, size, *_meeting(at, key), timeout), origin, timeout, False, "grow")


def join(at, key, timeout=datetime.timedelta(minutes=30)):
    """Makes this process a rank of a group whose ranks call grow() with the same arguments: in the place of
    init_process_group(). It waits for them, so a process can stand by. Of the environment it takes the folder of
    reports and the network interface; all else is that of the group."""
    if dist.is_initialized():
        raise RuntimeError("bough: join: this process is in a group already: destroy_process_group() first")
    timeout = _checked(timeout)
    group = _bough_torch.join(*_meeting(at, key), timeout, _reports(), "0", os.environ.get("BOUGH_SOCKET_IFNAME", ""))
    _adopt(group, None, min(timeout, datetime.timedelta(seconds=30)), False, "join")  # now all are there


def _meeting(at, key):
    places = []
    for place in [at] if isinstance(at, str) else at:
        host, _, port = str(place).rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError("at: must be host:port, or a list of these, and one is %r" % (place,))
        places.append((host.strip("[]"), int(port)))
    if not isinstance(key, (bytes, bytearray)):
        if not os.fspath(key):
            raise ValueError("key: must be 32 bytes, or the name of a file that has them, and is empty")
        return places, b"", os.fspath(key)
    if len(key) != 32:
        raise ValueError("key: must have 32 bytes, and has %d" % len(key))
    return places, bytes(key), ""


def _newest():
    """The group that is to be changed, and the default group that it came from."""
    origin = _default()
    return (_successor[0] if _successor is not None and _successor[1] is origin else origin), origin


def _adopt(group, origin, timeout, majority, what):
    """Makes the group the default group on all of its ranks. If one of them dies meanwhile, it is shrunk."""
    global _successor, _made, _changes
    while True:
        _successor = (group, origin) if origin is not None else None
        store, why = None, "another rank says why"
        try:
            store = _store_of(group, timeout)
        except (RuntimeError, OSError) as error:
            why = error
        all_have_it, nobody_is_gone = _bough_torch.agree(group, store is not None, timeout)
        if all_have_it and nobody_is_gone:
            break
        if nobody_is_gone:  # it would be the same again
            raise RuntimeError("bough: %s: there is no store for the new group: %s" % (what, why))
        group = _bough_torch.shrink(group, timeout, majority)
    _successor = None
    if dist.is_initialized():
        dist.destroy_process_group()
    # All have agreed, so from here on nothing depends on another rank. PyTorch would let all ranks meet in the store
    # again: if its rank died then, some would have the group and others would not.
    c10d = dist.distributed_c10d
    meet = c10d._store_based_barrier
    c10d._store_based_barrier = lambda *_, **__: None
    _made = group
    try:
        dist.init_process_group("bough", store=store, rank=group.rank(), world_size=group.size())
    finally:
        _made = None
        c10d._store_based_barrier = meet
    _changes = _bough_torch.changes(group)


def _store_of(group, timeout):
    """A store at rank 0: the one that served before may have been the dead rank's."""
    place = torch.zeros(256, dtype=torch.uint8)
    store, fault = None, None
    if group.rank() == 0:
        try:
            host = _bough_torch.address(group)
            store = dist.TCPStore(host, 0, group.size(), True, timeout, wait_for_workers=False)
            said = ("%s %d" % (host, store.port)).encode()
            place[:len(said)] = torch.tensor(list(said), dtype=torch.uint8)
        except (RuntimeError, OSError) as error:
            fault = error  # the others wait for the place: they hear that there is none
    how = dist.BroadcastOptions()
    how.timeout = timeout
    group.broadcast([place], how).wait()
    if not place.any():
        raise fault if fault is not None else RuntimeError("rank 0 could not make one, and says why")
    if store is None:
        host, port = bytes(place.tolist()).rstrip(b"\0").decode().split()
        store = dist.TCPStore(host, int(port), group.size(), False, timeout, wait_for_workers=False)
    return store


def report(group=None):
    """What this rank knows, as text: its latest calls, those in flight, and the ranks that they wait for."""
    return _bough_torch.report(_group(group))


def doctor(folder):
    """What holds up or broke a job, found in the files that BOUGH_TORCH_REPORTS=folder has left: a paragraph for each
    group. Any process of the machine may call it, while the job hangs or afterwards."""
    groups = {}
    for file in sorted(glob.glob(os.path.join(glob.escape(folder), "group*.rank*.bough"))):
        groups.setdefault(os.path.basename(file).rsplit(".rank", 1)[0], []).append(file)
    if not groups:
        raise ValueError("doctor: there are no recordings in %r" % folder)
    return "\n".join("%s: %s" % (group, _bough_torch.diagnose(files)) for group, files in groups.items())


atexit.register(_bough_torch.stop_helpers)
if not hasattr(dist.Backend, "BOUGH"):
    dist.Backend.register_backend("bough", _create, extended_api=True)
