# SPDX-License-Identifier: BSL-1.0
"""Distributed data-parallel training over bough.

  export PYTHONPATH=$(tools/torch build | tail -n 1)
  /usr/bin/python3 -m torch.distributed.run --nproc_per_node 2 --redirects 1 --tee 1 examples/54_training.py
"""
import torch
import torch.distributed as dist

import bough_torch  # noqa: F401  registers the backend

dist.init_process_group("bough")  # rank, world size and where to meet come from torchrun
rank, size = dist.get_rank(), dist.get_world_size()

torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# Each rank has a share of the data: the sum of eight numbers is to be learnt.
data = torch.rand(1024, 8, generator=torch.Generator().manual_seed(2))[rank::size]
for epoch in range(200):
    loss = torch.nn.functional.mse_loss(model(data).squeeze(1), data.sum(1))
    optimizer.zero_grad()
    loss.backward()  # gradients are summed over the ranks meanwhile
    optimizer.step()

mean = loss.detach().clone()
dist.all_reduce(mean, dist.ReduceOp.AVG)
weights = torch.cat([p.detach().flatten() for p in model.parameters()])
every = [torch.empty_like(weights) for _ in range(size)]
dist.all_gather(every, weights)
if rank == 0:
    print("ranks: %d, the loss is below 0.05: %s" % (size, bool(mean < 0.05)))
    print("the same weights on all ranks: %s" % all(torch.equal(e, weights) for e in every))
dist.destroy_process_group()
