# SPDX-License-Identifier: BSL-1.0
"""The process group of tools/torch beside gloo through Python, in turns in the same run.

  PYTHONPATH=$(tools/torch build | tail -n 1) /usr/bin/python3 benchmark/peers/training.py [ranks [rounds [most bytes]]]

Figures are medians over the rounds at rank 0; a ratio, bough to gloo, is the median of the rounds' ratios. The
last lines are a step of training: 50 buckets, all started before the first is waited for; and float16 and
bfloat16 of as many elements as the float32 before."""
import datetime
import os
import socket
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist

import bough_torch  # noqa: F401  registers the backend


def median(x):
    return statistics.median(x)


def measure(name, run, groups, rounds, rank):
    """run(group) in turns; prints both times and the ratio."""
    took = {name: [] for name in groups}
    for group in groups.values():
        run(group)
    begin = time.perf_counter()
    run(groups["gloo"])
    turns = torch.tensor([max(1, min(200, int(0.03 / max(1e-6, time.perf_counter() - begin))))])
    dist.broadcast(turns, 0)
    for _ in range(rounds):
        for key, group in groups.items():
            dist.barrier(group=group)
            begin = time.perf_counter()
            for _ in range(turns.item()):
                run(group)
            took[key].append((time.perf_counter() - begin) / turns.item() * 1e6)
    if rank == 0:
        ratio = median([b / g for b, g in zip(took["bough"], took["gloo"])])
        print("%-28s bough %10.1f us   gloo %10.1f us   ratio %5.2f" %
              (name, median(took["bough"]), median(took["gloo"]), ratio), flush=True)


def main_of_rank(rounds, most):
    torch.set_num_threads(1)
    dist.init_process_group("bough", timeout=datetime.timedelta(seconds=120))
    rank = dist.get_rank()
    groups = {"bough": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    measure("barrier", lambda g: dist.barrier(group=g), groups, rounds, rank)
    size = 4
    while size <= most:
        x = torch.zeros(size // 4)
        measure("all_reduce %d B" % size, lambda g: dist.all_reduce(x, group=g), groups, rounds, rank)
        size *= 8 if size < 4096 else 4
    for size in (4096, 262144, 4194304):
        if size <= most:
            x = torch.zeros(size // 4)
            measure("broadcast %d B" % size, lambda g: dist.broadcast(x, 0, group=g), groups, rounds, rank)
            outputs = [torch.zeros(size // 4) for _ in range(dist.get_world_size())]
            measure("all_gather %d B each" % size, lambda g: dist.all_gather(outputs, x, group=g), groups, rounds, rank)
    buckets = [torch.zeros(20000) for _ in range(50)]

    def step(group):
        for work in [dist.all_reduce(b, group=group, async_op=True) for b in buckets]:
            work.wait()

    measure("50 buckets of 80 KB", step, groups, rounds, rank)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.zeros(262144, dtype=dtype)
        begin = time.perf_counter()
        took = []
        for _ in range(rounds * 5):
            dist.barrier()
            begin = time.perf_counter()
            dist.all_reduce(x)
            took.append((time.perf_counter() - begin) * 1e6)
        if rank == 0:
            print("all_reduce of 262144 %-15s bough %10.1f us" % (str(dtype), median(took)), flush=True)


def main():
    if os.environ.get("BOUGH_BENCHMARK_RANK"):
        main_of_rank(int(sys.argv[2]), int(sys.argv[3]))
        return 0
    ranks, rounds, most = [int(a) for a in sys.argv[1:] + ["2", "11", "26214400"][len(sys.argv) - 1:]]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    processes = [
        subprocess.Popen([sys.executable, __file__, str(ranks), str(rounds), str(most)],
                         env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                                  MASTER_PORT=str(port), BOUGH_BENCHMARK_RANK="1", OMP_NUM_THREADS="1"))
        for r in range(ranks)
    ]
    return max(abs(p.wait()) for p in processes)


if __name__ == "__main__":
    sys.exit(main())
