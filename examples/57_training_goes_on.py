# SPDX-License-Identifier: BSL-1.0
"""Training goes on when a worker is killed: the others make a group of those that are left, and repeat the step.
Later a process that stands by joins them.

  export PYTHONPATH=$(tools/torch build | tail -n 1)
  /usr/bin/python3 examples/57_training_goes_on.py
"""
import os
import secrets
import signal
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import bough_torch


def latest(net, optimizer, step):
    """A rank may have finished a step that another one has not. All take over what the farthest has."""
    steps = [None] * dist.get_world_size()
    dist.all_gather_object(steps, step)
    state = [net.state_dict(), optimizer.state_dict()]
    dist.broadcast_object_list(state, steps.index(max(steps)))
    net.load_state_dict(state[0])
    optimizer.load_state_dict(state[1])
    return max(steps)


def worker(rank, size, port, place):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if rank < size:
        dist.init_process_group("bough", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=size)
    else:
        bough_torch.join(**place)  # returns when the others call grow
    net = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.rand(1024, 8, generator=torch.Generator().manual_seed(2))
    step, model = 0, None
    while step < 200:
        try:
            if step == 150 and dist.get_world_size() < size:
                bough_torch.grow(size, **place)
                model = None
            if model is None:  # at first, and when the group is a new one
                step = latest(net, optimizer, step)
                model = torch.nn.parallel.DistributedDataParallel(net)
            if rank == 1 and step == 100:
                os.kill(os.getpid(), signal.SIGKILL)
            mine = data[dist.get_rank()::dist.get_world_size()]  # the share of the dead rank, too
            loss = torch.nn.functional.mse_loss(model(mine).squeeze(1), mine.sum(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        except RuntimeError as error:
            if rank == 0:
                print("step %d: %s" % (step, str(error).splitlines()[0]))
            bough_torch.shrink()
            model = None
    weights = torch.cat([p.detach().flatten() for p in net.parameters()])
    every = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(every, weights)
    if rank == 0:
        print("step %d: ranks: %d, the loss is below 0.05: %s" % (step, len(every), bool(loss < 0.05)))
        print("the same weights on all ranks: %s" % all(torch.equal(e, weights) for e in every))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free = s.getsockname()[1]
    # On a cluster: an address on each machine, with a port that the system gives to nobody, and a key from a file.
    place = {"at": ["127.0.0.1:%d" % (20000 + os.getpid() % 10000)], "key": secrets.token_bytes(32)}
    workers = [mp.Process(target=worker, args=(r, 4, free, place)) for r in range(5)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    print("exit codes: %s" % [w.exitcode for w in workers])
