# SPDX-License-Identifier: BSL-1.0
"""The process group of PyTorch over bough, tested: every collective against what it should give, errors as
exceptions with a sentence, and training beside gloo. tools/torch test runs it; each test has its own
processes, which are killed after two minutes. Most are forked: importing torch takes longer than their work."""
import datetime
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported, as libgomp reads it then
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

TYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64, torch.float16,
         torch.bfloat16, torch.complex64, torch.complex128]


def values(rank, shape, dtype):
    """Small whole numbers, exact in every type; other ones on each rank."""
    n = 1
    for s in shape:
        n *= s
    return ((torch.arange(n) * 3 + rank * 5) % 7).reshape(shape).to(dtype)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b), "%s is not %s" % (a, b)


def raises(what, *words):
    try:
        what()
    except Exception as e:  # the type is that of torch
        text = str(e)
        for word in words:
            assert word in text, "%r is not in: %s" % (word, text)
        return text
    raise AssertionError("nothing was raised; expected " + repr(words))


def test_collectives(rank, size):
    for shape in [(), (0,), (1,), (3, 5), (1000,), (300001,)]:
        for dtype in TYPES if shape in [(3, 5), (1000,)] else [torch.float32, torch.int64]:
            every = [values(r, shape, dtype) for r in range(size)]
            total = every[0].clone()
            for e in every[1:]:
                total += e
            x = every[rank].clone()
            dist.all_reduce(x)
            same(x, total)
            root = size - 1
            x = every[rank].clone()
            dist.reduce(x, root)
            if rank == root:
                same(x, total)
            x = every[rank].clone()
            dist.broadcast(x, root)
            same(x, every[root])
            got = [torch.empty_like(x) for _ in range(size)]
            dist.all_gather(got, every[rank].clone())
            for g, e in zip(got, every):
                same(g, e)
            got = [torch.empty_like(x) for _ in range(size)] if rank == root else None
            dist.gather(every[rank].clone(), got, dst=root)
            if rank == root:
                for g, e in zip(got, every):
                    same(g, e)
            x = torch.empty_like(every[0])
            dist.scatter(x, [e.clone() for e in every] if rank == root else None, src=root)
            same(x, every[rank])
            x = torch.empty_like(every[0])
            dist.reduce_scatter(x, [every[(rank + r) % size].clone() for r in range(size)])
            same(x, total)  # rank q gives the block of r the values of rank q + r: each block sums all of them
            got = [torch.empty_like(x) for _ in range(size)]
            dist.all_to_all(got, [every[rank].clone() + r for r in range(size)])
            for r, g in enumerate(got):
                same(g, every[r] + rank)
    flat = torch.empty(size * 6, dtype=torch.float32)
    dist._all_gather_base(flat, torch.full((6,), float(rank)))
    same(flat, torch.arange(size, dtype=torch.float32).repeat_interleave(6))
    part = torch.empty(4)
    dist._reduce_scatter_base(part, torch.arange(4.0 * size))
    same(part, size * torch.arange(4.0 * rank, 4.0 * rank + 4))
    # Splits: rank r sends r + q rows to rank q.
    rows = [rank + q for q in range(size)]
    out = torch.empty((sum(r + rank for r in range(size)), 2))
    dist.all_to_all_single(out, torch.full((sum(rows), 2), float(rank)), [r + rank for r in range(size)], rows)
    same(out, torch.cat([torch.full((r + rank, 2), float(r)) for r in range(size)]))
    dist.barrier()
    bough_torch.monitored_barrier()
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(size)]


def test_ops(rank, size):
    every = [values(r, (50,), torch.int32) + 1 for r in range(size)]
    stack = torch.stack(every)
    for op, expected in [(dist.ReduceOp.PRODUCT, stack.prod(0)), (dist.ReduceOp.MIN, stack.min(0).values),
                         (dist.ReduceOp.MAX, stack.max(0).values)]:
        x = every[rank].clone()
        dist.all_reduce(x, op)
        same(x, expected.to(torch.int32))
    for op, f in [(dist.ReduceOp.BAND, torch.bitwise_and), (dist.ReduceOp.BOR, torch.bitwise_or),
                  (dist.ReduceOp.BXOR, torch.bitwise_xor)]:
        expected = every[0].clone()
        for e in every[1:]:
            expected = f(expected, e)
        x = every[rank].clone()
        dist.all_reduce(x, op)
        same(x, expected)
    for dtype in [torch.float32, torch.float16, torch.bfloat16]:
        x = torch.full((33,), float(2 * rank), dtype=dtype)
        dist.all_reduce(x, dist.ReduceOp.AVG)
        same(x, torch.full((33,), float(size - 1), dtype=dtype))
    x = torch.tensor([rank == 0, False, True])
    dist.all_reduce(x)
    same(x, torch.tensor([True, False, True]))
    raises(lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.BAND), "all_reduce", "does not take this op")
    raises(lambda: dist.all_reduce(torch.ones(3, dtype=torch.int32), dist.ReduceOp.AVG), "average")


def test_layouts(rank, size):
    """Tensors that are not contiguous; several in flight; futures."""
    x = torch.zeros(6, 8)
    x[:, ::2] = rank + 1.0
    column = x[:, ::2].t()
    dist.all_reduce(column)
    total = size * (size + 1) / 2
    assert torch.equal(x[:, ::2], torch.full((6, 4), total)) and torch.equal(x[:, 1::2], torch.zeros(6, 4))
    out = torch.zeros(8, 2)
    dist.broadcast(out[:, 1] if rank != 0 else torch.arange(8.0), 0)
    if rank != 0:
        assert torch.equal(out, torch.stack([torch.zeros(8), torch.arange(8.0)], 1))
    many = [torch.full((10000 + 7 * i,), float(rank + i)) for i in range(50)]
    works = [dist.all_reduce(t, async_op=True) for t in many]
    for w in reversed(works):
        w.wait()
        assert w.is_completed() and w.is_success()
    for i, t in enumerate(many):
        assert torch.equal(t, torch.full_like(t, sum(r + i for r in range(size))))
    # Without a wait: the helper thread brings it to its end.
    x = torch.ones(300000)
    w = dist.all_reduce(x, async_op=True)
    doubled = w.get_future().then(lambda f: f.value()[0] * 2)
    end = time.time() + 20
    while not w.is_completed():
        assert time.time() < end
        time.sleep(0.001)
    assert torch.equal(doubled.wait(), torch.full_like(x, 2.0 * size))


def test_messages(rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    for n in [0, 1, 1000, 1000000]:
        sends = dist.isend(torch.full((n,), float(rank)), right)  # all send before any receives
        x = torch.empty(n)
        dist.recv(x, left)
        sends.wait()
        same(x, torch.full((n,), float(left)))
    if rank == 0:
        for i in range(20):
            dist.send(torch.tensor([i]), 1, tag=i)
    elif rank == 1:
        for i in range(20):
            x = torch.empty(1, dtype=torch.int64)
            dist.recv(x, 0, tag=i)
            assert x.item() == i
    raises(lambda: dist.recv(torch.ones(1)), "name the source")
    dist.barrier()


def test_subgroups(rank, size):
    low = dist.new_group([0, 1])
    high = dist.new_group(list(range(1, size)))
    if rank in (0, 1):
        x = torch.tensor([rank + 1.0])
        dist.all_reduce(x, group=low)
        assert x.item() == 3
    if rank >= 1:
        x = torch.tensor([1.0])
        dist.all_reduce(x, group=high)
        assert x.item() == size - 1
        x = torch.tensor([float(rank)])
        dist.broadcast(x, size - 1, group=high)
        assert x.item() == size - 1
    dist.barrier()


def test_bad_arguments(rank, size):
    raises(lambda: dist.all_reduce(torch.ones(2).to_sparse()))
    raises(lambda: dist._all_gather_base(torch.empty(size + 1), torch.empty(1)), "times the elements")
    raises(lambda: dist.all_gather([torch.empty(2)] * (size - 1), torch.empty(2)), "tensor")
    raises(lambda: dist.all_gather([torch.empty(3)] * size, torch.empty(2)), "sizes")
    raises(lambda: dist.all_to_all_single(torch.empty(size), torch.empty(size), [1] * size, [2] * size), "splits")
    raises(lambda: dist.all_reduce(torch.ones(2, device="meta")))
    x = torch.ones(2)
    dist.all_reduce(x)  # nothing of that has broken the group
    assert x[0] == size


def test_mismatch(rank, size):
    """Shapes that differ raise on all ranks, with both lengths on one."""
    text = raises(lambda: dist.all_reduce(torch.ones(10 if rank == 0 else 20)), "bough: all_reduce")
    told = ["10" in text and "20" in text]
    every = [None] * size
    store = dist.distributed_c10d._get_default_store()
    store.set("told%d" % rank, str(told[0]))
    every = [store.get("told%d" % r) for r in range(size)]
    assert b"True" in every, every
    raises(lambda: dist.all_reduce(torch.ones(1)), "bough")  # the group is of no use any more


def test_late(rank, size):
    """A rank that does not come is named, in time."""
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["named1_0", "named1_2"])
        store.set("left1", "yes")
        return
    begin = time.time()
    raises(lambda: bough_torch.monitored_barrier(timeout=datetime.timedelta(milliseconds=500)), "barrier", "rank 1")
    assert 0.4 < time.time() - begin < 8, time.time() - begin
    store.set("named1_%d" % rank, "yes")
    if rank == 0:
        store.wait(["left1"])  # the store ends with rank 0


def test_killed(rank, size):
    """A worker that is killed raises on all others, soon, and is named."""
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.time()
    raises(lambda: dist.all_reduce(torch.ones(100000)), "rank 1")
    assert time.time() - begin < 1.0, time.time() - begin


def test_again(rank, size):
    """Destroyed and made again."""
    for turn in range(3):
        x = torch.ones(1000)
        dist.all_reduce(x)
        assert x[999] == size
        dist.barrier()
        dist.destroy_process_group()
        os.environ["MASTER_PORT"] = str(int(os.environ["FIRST_PORT"]) + 1 + turn)
        dist.init_process_group("bough", rank=rank, world_size=size)


def test_dropped(rank, size):
    """The group is destroyed while operations are in flight whose works nobody holds: they end well."""
    dist.barrier()  # all have left the store, which ends with rank 0
    many = [torch.full((20000,), float(rank + i)) for i in range(30)]
    if rank != 0:
        time.sleep(0.5)
    doubled = [dist.all_reduce(t, async_op=True).get_future().then(lambda f: f.value()[0] * 2) for t in many[:20]]
    for t in many[20:]:
        dist.all_reduce(t, async_op=True)
    dist.destroy_process_group()
    for f in doubled:
        f.wait()
    end = time.time() + 20
    expected = [float(sum(r + i for r in range(size))) for i in range(30)]
    while not all(t[-1].item() == e for t, e in zip(many, expected)):
        assert time.time() < end
        time.sleep(0.01)
    time.sleep(0.2)  # the group ends


def test_exits(rank, size):
    """The interpreter ends while functions of Python run, or are still to be run, in the group's thread."""
    dist.barrier()
    for i in range(40):
        dist.all_reduce(torch.ones(2000), async_op=True).get_future().then(lambda f: time.sleep(0.005))


def test_many(rank, size):
    """Many in flight, while a rank is held up in the middle of its calls."""
    many = [torch.empty(2000) for _ in range(50)]
    for step in range(60):
        for i, t in enumerate(many):
            t.fill_(rank + i)
        works = []
        for i, t in enumerate(many):
            if (i + 7 * step) % 25 == 24 * rank:
                time.sleep(0.002)
            works.append(dist.all_reduce(t, async_op=True))
        for w in reversed(works):
            w.wait()
        for i, t in enumerate(many):
            assert (t == sum(r + i for r in range(size))).all()


def test_apart(rank, size):
    """The end of a program: ranks leave one after the other, with and without a word, and nobody fails."""
    dist.barrier()  # all have left the store, which ends with rank 0
    x = torch.full((100000,), float(rank))
    dist.broadcast(x, 0)
    if rank == 0:
        dist.send(torch.ones(10), 1)
    elif rank == 1:
        time.sleep(0.5)
        y = torch.zeros(10)
        dist.recv(y, 0)
        assert y[9] == 1
    time.sleep(0.3 * ((rank + 1) % size))
    if rank != size - 1:
        dist.destroy_process_group()


def test_gone(rank, size):
    """A rank destroys the group, and the others call on: they hear at once."""
    dist.barrier()  # all have left the store, which ends with rank 0
    if rank == 0:
        dist.destroy_process_group()
        time.sleep(10)
        return
    begin = time.time()
    raises(lambda: dist.all_reduce(torch.ones(100000)), "rank 0")
    assert time.time() - begin < 5, time.time() - begin


def model():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(40, 300), torch.nn.Tanh(), torch.nn.Linear(300, 300), torch.nn.ReLU(),
                               torch.nn.Linear(300, 5))


def train(rank, size, steps, group=None, bucket_mb=25):
    net = torch.nn.parallel.DistributedDataParallel(model(), process_group=group, bucket_cap_mb=bucket_mb)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    data = torch.Generator().manual_seed(100 + rank)
    loss = None
    for step in range(steps):
        x, y = torch.randn(16, 40, generator=data), torch.randint(0, 5, (16,), generator=data)
        if step % 4 == 3:  # gradient accumulation
            with net.no_sync():
                torch.nn.functional.cross_entropy(net(x), y).backward()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return torch.cat([p.detach().flatten() for p in net.parameters()]), loss.item()


def test_training(rank, size):
    """As with gloo: to the last bit for two ranks, closely for more; the same bits on all ranks."""
    gloo = dist.new_group(backend="gloo")
    mine, loss = train(rank, size, 12)
    theirs, their_loss = train(rank, size, 12, gloo)
    if size == 2:
        assert torch.equal(mine, theirs) and loss == their_loss
    else:
        assert torch.allclose(mine, theirs, atol=1e-5)
    every = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(every, mine)
    for e in every:
        assert torch.equal(e, mine)
    # Uneven inputs: rank 0 has one batch more than the others.
    net = torch.nn.parallel.DistributedDataParallel(model())
    with net.join():
        for _ in range(5 + (rank == 0)):
            net(torch.ones(4, 40)).sum().backward()
    dist.barrier()


def test_same_bits(rank, size):
    """With BOUGH_TORCH_SAME_BITS=1 neither the size of buckets nor an element's place changes a bit."""
    expected, _ = train(rank, size, 6, bucket_mb=25)
    for bucket_mb in (0.01, 0.2, 1, 5):
        got, _ = train(rank, size, 6, bucket_mb=bucket_mb)
        assert torch.equal(got, expected), bucket_mb
    whole = torch.randn(400000, generator=torch.Generator().manual_seed(rank))
    parts = whole.clone()
    dist.all_reduce(whole)
    for part in parts.split([1, 2, 5, 100, 3000, 96892, 300000]):
        dist.all_reduce(part)
    assert torch.equal(whole, parts)
    once = torch.randn(400000, generator=torch.Generator().manual_seed(rank))
    for part in once.split([1, 2, 5, 100, 3000, 96892, 300000]):
        dist.reduce(part, size - 1)
    assert rank != size - 1 or torch.equal(whole, once)


def test_rounded_once(rank, size):
    """With BOUGH_TORCH_ACCUMULATE=float sums of 16 bits are those of float, rounded."""
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.randn(5000, generator=torch.Generator().manual_seed(rank)).to(dtype)
        wide = x.to(torch.float32)
        dist.all_reduce(x)
        dist.all_reduce(wide)
        assert torch.equal(x, wide.to(dtype))


TESTS = {  # name: ranks, environment
    "collectives": ([1, 2, 3], {}), "ops": ([2, 4], {}), "layouts": ([3], {}), "messages": ([2, 4], {}),
    "subgroups": ([4], {}), "bad_arguments": ([2], {}), "mismatch": ([3], {}), "late": ([3], {}), "killed": ([4], {}),
    "exits": ([3], {}), "dropped": ([3], {}), "many": ([2], {}), "apart": ([3], {}), "gone": ([3], {}), "again": ([2], {}),
    "training": ([2, 3], {}), "same_bits": ([3, 4], {"BOUGH_TORCH_SAME_BITS": "1"}),
    "rounded_once": ([2, 4], {"BOUGH_TORCH_ACCUMULATE": "float"}),
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# Of these each rank is a program of its own, as it is for a user, and has its own addresses.
PROGRAMS = ["collectives"]


def be_rank(name):
    dist.init_process_group("bough", timeout=datetime.timedelta(seconds=60))
    assert dist.get_backend() == "bough"
    globals()["test_" + name](int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))


def start(name, environment, out):
    """The id of a process that is a rank of the test, and writes to out."""
    if name in PROGRAMS:
        return subprocess.Popen([sys.executable, __file__, "--rank", name], env=dict(os.environ, **environment),
                                stdout=out, stderr=out).pid
    assert os.listdir("/proc/self/task") == [str(os.getpid())]  # a forked process has one thread only
    sys.stdout.flush()
    pid = os.fork()
    if pid != 0:
        return pid
    os.dup2(out.fileno(), 1)
    os.dup2(out.fileno(), 2)
    os.environ.update(environment)
    try:
        be_rank(name)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)  # as a program ends: what is left of the group ends with the interpreter


def code_of(pid, end):
    """How the process ended; it is killed if it has not at this time."""
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done != 0:
            return os.waitstatus_to_exitcode(status)
        if time.time() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "killed after two minutes"
        time.sleep(0.01)


def run(name, size, environment):
    port = str(free_port())
    ranks = []
    for r in range(size):
        out = tempfile.TemporaryFile()
        own = dict(environment, RANK=str(r), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                   FIRST_PORT=port)
        ranks.append((start(name, own, out), out))
    end = time.time() + 120
    good = True
    for r, (pid, out) in enumerate(ranks):
        code = code_of(pid, end)
        if code != (-9 if name == "killed" and r == 1 else 0):
            good = False
            out.seek(0)
            print("%s, rank %d of %d: %s\n%s" % (name, r, size, code, out.read().decode(errors="replace")))
    return good


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--rank":
        be_rank(sys.argv[2])
        return 0
    bad = 0
    for name in sys.argv[1:] or TESTS:
        sizes, environment = TESTS[name]
        for size in sizes:
            begin = time.time()
            good = run(name, size, environment)
            print("%-14s %d ranks  %s  %.1f s" % (name, size, "ok" if good else "FAILED", time.time() - begin),
                  flush=True)
            bad += not good
    return 1 if bad else 0


import bough_torch  # noqa: E402  registers the backend

if __name__ == "__main__":
    sys.exit(main())
