# SPDX-License-Identifier: BSL-1.0
"""The process group of PyTorch over bough, tested: every collective against what it should give, errors as
exceptions with a sentence, and training beside gloo. tools/torch test runs it; each test has its own
processes, which are killed after two minutes. Most are forked: importing torch takes longer than their work."""
import datetime
import os
import shutil
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


def note(text):
    """For whoever runs the tests: the last line of a rank that begins so is printed."""
    print("note: " + text, flush=True)


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
    for n in (3, 50000):  # the sum would be larger than the largest number
        expected = torch.full((n,), 60000.0, dtype=torch.float16)
        x = expected.clone()
        dist.all_reduce(x, dist.ReduceOp.AVG)
        same(x, expected)
        x = torch.zeros(n, dtype=torch.float16)
        dist._reduce_scatter_base(x, expected.repeat(size), dist.ReduceOp.AVG)
        same(x, expected)
        x = torch.zeros(n, dtype=torch.float16)
        dist.reduce_scatter(x, [expected.clone() for _ in range(size)], dist.ReduceOp.AVG)
        same(x, expected)
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
    # Tensors whose memory has the negated or conjugated values.
    def minus(value):
        return torch._neg_view(torch.full((2,), value))
    got = [torch.empty(2) for _ in range(size)]
    dist.all_gather(got, minus(rank + 1.0))
    for r, g in enumerate(got):
        same(g, torch.full((2,), -1.0 - r))
    flat = torch.empty(2 * size)
    dist._all_gather_base(flat, minus(rank + 1.0))
    same(flat, torch.cat(got))
    part = torch.empty(2)
    dist._reduce_scatter_base(part, torch._neg_view(torch.full((2 * size,), 3.0)))
    same(part, torch.full((2,), -3.0 * size))
    dist.all_to_all_single(flat, torch._neg_view(torch.full((2 * size,), rank + 1.0)))
    same(flat, torch.cat(got))
    out = minus(0.0)
    dist.scatter(out, got if rank == 0 else None, 0)
    same(out.clone(), got[rank])
    out = torch.empty(size, dtype=torch.complex64)
    dist.distributed_c10d._get_default_group()._allgather_base(out, torch.tensor([1 + 2j]).conj()).wait()
    same(out, torch.full((size,), 1 - 2j, dtype=torch.complex64))
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


def test_modes(rank, size):
    """Results are written in the modes of the caller, whichever thread writes them."""
    dist.barrier()
    for waits_first in (True, False):
        def ended(w):
            if not waits_first:
                time.sleep(0.1)  # the helper writes
            w.wait()

        p = torch.nn.Parameter(torch.full((4, 6), float(rank)))
        ended(dist.all_reduce(p, dist.ReduceOp.AVG, async_op=True))
        assert torch.equal(p, torch.full((4, 6), (size - 1) / 2)) and p.requires_grad and p.is_leaf
        q = torch.nn.Parameter(torch.full((4, 6), float(rank)))
        ended(dist.all_reduce(q.t(), dist.ReduceOp.AVG, async_op=True))
        assert torch.equal(q, p)
        got = [torch.empty(4, 6) for _ in range(size)]
        ended(dist.all_gather(got, p, async_op=True))
        assert all(torch.equal(g, p) and not g.requires_grad for g in got)
        with torch.inference_mode():
            x, got = torch.full((40000,), float(rank)), [torch.empty(40000) for _ in range(size)]
            for _ in range(20):
                ended(dist.all_gather(got, x, async_op=True))
                assert [g[-1].item() for g in got] == list(range(size))


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


def test_tags(rank, size):
    """Messages that are received otherwise than they were sent: the receiver is told what differs."""
    for take, words in ((lambda x, g: dist.recv(x, 0, g, 2), "tag"), (lambda x, g: dist.recv(x.int(), 0, g, 1), "dtype")):
        group = dist.new_group()
        x = torch.ones(3)
        if rank == 0:
            dist.send(x, 1, group, 1)
        elif rank == 1:
            text = raises(lambda: take(x, group), "bough: recv: the ", words, "differs")
            assert "element type" not in text and "0x" not in text, text
        dist.barrier(group)
    group = dist.new_group()
    if rank == 0:
        for w in [dist.isend(x, 1, group, tag) for tag in (3, 1, 2)]:
            w.wait()
        dist.barrier()
    else:
        dist.barrier()  # all are there
        for w in [dist.irecv(torch.empty(3), 0, group, tag) for tag in (1, 2, 3)]:
            raises(w.wait, "bough: recv: the ", "tag", "differs")
    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    if rank == 1:
        raises(lambda: dist.recv(x, 0, group), "recv", "rank 0 has not come to message #1 from rank 0 to rank 1")
    dist.barrier()


def test_idle(rank, size):
    """A rank that computes is not said to be silent, whoever sends ahead to it."""
    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    dist.barrier()
    if rank != 0:
        end = time.time() + 2
        try:
            while time.time() < end:
                dist.reduce(torch.ones(3), 0, group=group)
        except RuntimeError as e:
            assert "has not come" in str(e), e
    else:
        time.sleep(2.2)
    dist.distributed_c10d._get_default_store().set("waited%d" % rank, "yes")
    dist.distributed_c10d._get_default_store().wait(["waited%d" % r for r in range(size)])


def test_other_memory(rank, size):
    """Tensors that are given other memory while an operation goes on in what they had."""
    for _ in range(5):
        x = torch.ones(1 << 20)
        seen = x.view(-1)
        w = dist.all_reduce(x, async_op=True)
        x.data = torch.zeros(1)
        y = torch.ones(1 << 20)
        v = dist.all_reduce(y, async_op=True)
        y.set_(torch.zeros(1).storage())
        w.wait()
        v.wait()
        assert torch.equal(seen, torch.full_like(seen, float(size)))


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
    bad = {"Sparse": torch.ones(2).to_sparse(), "Sparse ": torch.eye(3).to_sparse(),
           "SparseCsr": torch.eye(3).to_sparse_csr(), "on meta": torch.ones(2, device="meta"),
           "QInt8": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}
    for word, x in bad.items():  # each call names itself, and what is wrong with the tensor
        for name, call in {
                "all_reduce": lambda: dist.all_reduce(x), "reduce": lambda: dist.reduce(x, 0),
                "broadcast": lambda: dist.broadcast(x, 0), "send": lambda: dist.send(x, 1 - rank),
                "recv": lambda: dist.recv(x, 1 - rank),
                "all_gather_into_tensor": lambda: dist._all_gather_base(x, torch.ones(1)),
                "reduce_scatter_tensor": lambda: dist._reduce_scatter_base(torch.ones(1), x),
                "all_to_all_single": lambda: dist.all_to_all_single(x, x)}.items():
            text = raises(call)  # PyTorch itself refuses some tensors that are on no device
            assert ("bough: " + name in text and word.strip() in text) or (word == "on meta" and "'c10d::" in text), text
    raises(lambda: dist.all_to_all([torch.empty(1), torch.empty(1, dtype=torch.int32)], [torch.empty(1)] * 2), "dtype")
    raises(lambda: dist._all_gather_base(torch.empty(2, dtype=torch.int32), torch.empty(1)), "dtype")
    raises(lambda: dist.broadcast(torch.ones(1), size), "rank")
    raises(lambda: dist.send(torch.ones(1), rank), "bough: send", "another rank")
    raises(lambda: dist._all_gather_base(torch.empty(size + 1), torch.empty(1)), "times the elements")
    raises(lambda: dist.all_gather([torch.empty(2)] * (size - 1), torch.empty(2)), "tensor")
    raises(lambda: dist.all_gather([torch.empty(3)] * size, torch.empty(2)), "sizes")
    raises(lambda: dist.all_to_all_single(torch.empty(size), torch.empty(size), [1] * size, [2] * size), "splits")
    wide = torch.ones(1).expand(4)  # as an input it is as good as others
    outputs = {"all_reduce": lambda: dist.all_reduce(wide), "broadcast": lambda: dist.broadcast(wide, 0),
               "recv": lambda: dist.recv(wide, 1 - rank), "all_gather": lambda: dist.all_gather([wide] * size, wide),
               "reduce_scatter_tensor": lambda: dist._reduce_scatter_base(wide, torch.ones(4 * size))}
    for name, call in outputs.items():
        assert raises(call, "share their memory").startswith("bough: %s: " % name)
    got = [torch.empty(4) for _ in range(size)]
    dist.all_gather(got, wide)
    same(got[1], torch.ones(4))
    raises(lambda: bough_torch.monitored_barrier(timeout=5), "timeout: must be a datetime.timedelta")
    raises(lambda: bough_torch.report(dist.GroupMember.NON_GROUP_MEMBER), "group: this process is not in it")
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


def test_differing(rank, size):
    """Ranks that call in another order, or with another type, op or root: all raise, and one says both."""
    store = dist.distributed_c10d._get_default_store()
    x, one = torch.ones(8), rank == 1
    calls = {
        "order": (lambda g: dist.broadcast(x, 0, g) if one else dist.all_reduce(x, group=g), "allreduce", "broadcast"),
        "type": (lambda g: dist.all_reduce(x.double() if one else x, group=g), "the dtype differs (", "float32 ", "float64 "),
        "op": (lambda g: dist.all_reduce(x, dist.ReduceOp.MAX if one else dist.ReduceOp.SUM, g), "max", "plus"),
        "average": (lambda g: dist.all_reduce(x, dist.ReduceOp.AVG if one else dist.ReduceOp.SUM, g), "plus", "in its numbers"),
        "average_of_half": (lambda g: dist.all_reduce(x.half(), dist.ReduceOp.AVG if one else dist.ReduceOp.SUM, g), "op differs"),
        "average_of_block": (lambda g: dist._reduce_scatter_base(torch.empty(8), torch.ones(8 * size), dist.ReduceOp.AVG if one else dist.ReduceOp.SUM, g), "plus"),
        "root": (lambda g: dist.broadcast(x, 1 if one else 0, g), "the root differs", "0 ", "1 "),
        "sum_of": (lambda g: dist.all_reduce(torch.ones(8 if one else 9), group=g), "8 ", "9 "),
    }
    for name, (call, *words) in calls.items():
        group = dist.new_group(timeout=datetime.timedelta(seconds=20))  # a failed one is of no use
        begin = time.time()
        try:
            call(group)
            dist.barrier(group)  # a root, for instance, may have ended well before it hears
            text = ""
        except RuntimeError as e:
            text = str(e)
        assert text.startswith("bough: "), "%s raises nothing of bough: %r" % (name, text)
        assert time.time() - begin < 10, name
        store.set("%s%d" % (name, rank), text)
        said = [store.get("%s%d" % (name, r)).decode() for r in range(size)]
        assert any(all(w in s for w in words) for s in said), (name, words, said)
    dist.barrier()  # the default group has seen nothing of it


def meet(rank, size, prefix="", seconds=20):
    """A group over a store of its own at the first rank, as a program does it that makes its store itself."""
    port = int(os.environ["FIRST_PORT"])
    store = dist.TCPStore("127.0.0.1", port, size, rank == 0, datetime.timedelta(seconds=seconds),
                          wait_for_workers=False)
    return store, lambda r=rank, n=size: dist.init_process_group(
        "bough", store=dist.PrefixStore(prefix, store) if prefix else store, rank=r, world_size=n,
        timeout=datetime.timedelta(seconds=seconds))


def test_store_gone(rank, size):
    """The store goes away before all ranks have met."""
    store, join = meet(rank, size)
    store.set("here%d" % rank, "yes")
    if rank == 0:
        store.wait(["here%d" % r for r in range(size)])
        time.sleep(0.3)  # the others wait for this rank
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.time()
    raises(join, "bough: init_process_group", "the store is gone")
    assert time.time() - begin < 10, time.time() - begin


def test_store_goes_later(rank, size):
    """The store goes away when the group has been made: its calls do not need it."""
    store, join = meet(rank, size)
    join()
    dist.barrier()
    if rank == 0:
        time.sleep(0.2)  # the others have ended the barrier, too
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.time()
    raises(lambda: dist.all_reduce(torch.ones(1000)), "rank 0 is gone")
    assert time.time() - begin < 3
    bough_torch.shrink()
    x = torch.ones(3)
    dist.all_reduce(x)
    assert x[0] == size - 1 and dist.get_rank() == rank - 1
    raises(lambda: store.get("anything"))
    dist.new_group([0])  # over the store of the new rank 0


def test_twice(rank, size):
    """Two processes say that they are rank 1: one of them is told so, and the others go on with the first."""
    store, join = meet(rank, size)
    try:
        join(min(rank, 1), 2)
        x = torch.ones(4)
        dist.all_reduce(x)
        assert x[0] == 2
        store.set("joined%d" % rank, "yes")
    except RuntimeError as e:
        assert rank != 0 and "bough: init_process_group: rank: another process has rank 1 already" in str(e), e
        store.set("twice", str(rank))
    other = int(store.get("twice"))  # one has it, and the other one has joined
    store.wait(["joined0", "joined%d" % (3 - other)])
    store.set("over%d" % rank, "yes")
    if rank == 0:
        store.wait(["over1", "over2"])


def test_world_size(rank, size):
    """A rank has another WORLD_SIZE: who has to do with it raises, with both, and nobody waits."""
    store, join = meet(rank, size)
    begin = time.time()
    text = raises(lambda: join(n=2 if rank == 0 else 3), "bough: init_process_group: world_size: it is ")
    assert "it is 2 on rank 0, and 3 on rank 1" in text or "it is 3 on rank %d, and 2 on rank 0" % rank in text, text
    assert time.time() - begin < 10
    store.set("said%d" % rank, "yes")
    if rank == 0:
        store.wait(["said1", "said2"])


def test_environment(rank, size):
    """A variable is set on one rank alone: all that hear of it say so, and nobody waits."""
    store, _ = meet(rank, size)
    for name in ("BOUGH_TORCH_SAME_BITS", "BOUGH_TORCH_REPORTS"):
        if rank == 0:
            os.environ[name] = os.environ["FOLDER"] if name == "BOUGH_TORCH_REPORTS" else "1"
        begin = time.time()
        raises(lambda: dist.init_process_group("bough", store=dist.PrefixStore(name, store), rank=rank, world_size=size),
               "bough: init_process_group: %s: it is set on rank 0, and not on rank " % name)
        assert time.time() - begin < 8, time.time() - begin
        os.environ.pop(name, None)
        store.set("%s %d" % (name, rank), "yes")
        store.wait(["%s %d" % (name, r) for r in range(size)])
    if rank == 0:
        time.sleep(0.3)  # the others have the answer of the store


def test_not_come(rank, size):
    """A rank never comes to init_process_group: the others name it in time. Wrong ranks are named at once."""
    store, join = meet(rank, size, seconds=2)
    raises(lambda: join(size, size), "bough: init_process_group: rank: it is %d, and must be below world_size, which is %d" % (size, size))
    os.environ["BOUGH_SOCKET_IFNAME"] = "nowhere"
    raises(join, "bough: init_process_group: BOUGH_SOCKET_IFNAME: this machine has no interface 'nowhere'")
    del os.environ["BOUGH_SOCKET_IFNAME"]
    store.set("here%d" % rank, "yes")
    if rank != 2:
        begin = time.time()
        raises(join, "bough: init_process_group: rank 2 has not come within 2000 ms")
        assert 1.8 < time.time() - begin < 8, time.time() - begin
        store.set("over%d" % rank, "yes")
    if rank != 1:
        store.wait(["over0", "over1"], datetime.timedelta(seconds=30))


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
    """A worker that is killed raises on all others, soon, and is named: while they wait in a call, and with works in
    flight. Then they go on without it."""
    times = []
    victims = [0, 3, 5, 4]
    for turn, victim in enumerate(victims):
        x = torch.ones(3000)
        dist.all_reduce(x)
        assert x[0] == size - turn == dist.get_world_size()
        named = sorted(set(range(size)) - set(victims[:turn])).index(victim)
        said = os.path.join(os.environ["FOLDER"], "killed%d" % turn)
        if rank == victim:
            time.sleep(0.2)
            with open(said + ".new", "w") as f:
                f.write(str(time.monotonic_ns()))
            os.rename(said + ".new", said)
            os.kill(os.getpid(), signal.SIGKILL)
        if turn % 2 == 0:
            raises(lambda: dist.all_reduce(torch.ones(100000)), "bough: all_reduce: rank %d is gone" % named)
        else:
            works = [dist.all_reduce(torch.ones(100000), async_op=True) for _ in range(5)]
            raises(works[0].wait, "bough: all_reduce: rank %d is gone" % named)
        now = time.monotonic_ns()
        if turn % 2 != 0:
            for w in works:
                raises(w.wait, "bough: all_reduce")
                assert w.is_completed() and not w.is_success()
        with open(said) as f:
            times.append((now - int(f.read())) / 1e6)
        old = dist.distributed_c10d._get_default_group()
        bough_torch.shrink()
        raises(lambda: old.allreduce([torch.ones(1)]).wait(), "this group has been shrunk")
    # On a machine that has more to do than it can, processes wait for a processor.
    limit = 250 if os.getloadavg()[0] < os.cpu_count() else 1000
    times.sort()
    median = (times[1] + times[2]) / 2
    assert median < limit and times[-1] < 4 * limit, times
    note("%d killed, rank %d knew after %s ms" % (len(times), rank, ", ".join("%.0f" % t for t in times)))


def test_shrink(rank, size):
    """Without a death it is a new group of all; who does not come in time is left out; one may be left."""
    works = [dist.all_reduce(torch.full((50000,), float(rank)), async_op=True) for _ in range(10)]
    for w in works:
        w.wait()
    assert bough_torch.agree(True) and not bough_torch.agree(rank != 1) and bough_torch.agree(True)
    bough_torch.shrink()
    assert (dist.get_rank(), dist.get_world_size()) == (rank, size)
    store = dist.distributed_c10d._get_default_store()
    if rank == size - 1:
        store.wait(["gone on"])
        raises(lambda: bough_torch.shrink(datetime.timedelta(seconds=1)), "bough: shrink: ")
        # The others go on without it. If it began again, it would be a job of its own.
        for again in (bough_torch.shrink, lambda: bough_torch.agree(True)):
            raises(again, "this rank was left out")
        store.set("heard", "yes")
        dist.destroy_process_group()
        dist.init_process_group("bough", store=dist.HashStore(), rank=0, world_size=1)
        dist.all_reduce(torch.ones(3))  # nothing of the old group is in it
        assert dist.get_world_size() == 1
        return
    for nothing in (0, -1):
        raises(lambda: bough_torch.shrink(datetime.timedelta(seconds=nothing)), "timeout: must be longer")
    # An operation that needs the rank that does not come is given up.
    w = dist.all_reduce(torch.ones(100000), async_op=True)
    bough_torch.shrink(datetime.timedelta(seconds=1))
    raises(w.wait, "bough: all_reduce")
    assert (dist.get_rank(), dist.get_world_size()) == (rank, size - 1)
    low = dist.new_group([0])
    if rank == 0:
        dist.all_reduce(torch.ones(2), group=low)
        assert os.path.exists(os.environ["FOLDER"] + "/group1-2.rank0.bough")  # not the name of an earlier group 1
        dist.send(torch.tensor([7]), 1)
    elif rank == 1:
        x = torch.empty(1, dtype=torch.int64)
        dist.recv(x, 0)
        assert x.item() == 7
    store.set("gone on", "yes")
    store.wait(["heard"])
    dist.barrier()
    raises(lambda: bough_torch.agree(True, dist.new_group(backend="gloo")), "bough: agree: group")
    if rank != 0:
        dist.destroy_process_group()
        return
    # The others are gone, without having been killed.
    raises(lambda: dist.all_reduce(torch.ones(1)), "rank")
    raises(lambda: bough_torch.shrink(majority=True), "bough: shrink: 1 of %d ranks are known to agree" % (size - 1))
    bough_torch.shrink()
    x = torch.ones(5)
    dist.all_reduce(x)
    assert dist.get_world_size() == 1 and x[0] == 1


def test_shrink_alone(rank, size):
    """One rank fails by itself and shrinks, while the others wait for it in a call: they raise, and come, too."""
    for turn, call in enumerate((lambda: dist.all_reduce(torch.ones(100000)), lambda: dist.all_reduce(torch.ones(1)),
                                 lambda: dist.recv(torch.ones(3), 1))):
        dist.barrier()  # which ends well on all, also if one of them shrinks when it has ended there
        if rank == 1:
            time.sleep(0.3 * turn)
        else:
            begin = time.time()
            raises(call, "bough: ", "rank 1 shrinks the group")
            assert time.time() - begin < 10
        bough_torch.shrink(datetime.timedelta(seconds=20))
        assert (dist.get_rank(), dist.get_world_size()) == (rank, size)
        x = torch.ones(5)
        dist.all_reduce(x)
        assert x[4] == size, turn
    for _ in range(20):
        dist.barrier()
        old = dist.group.WORLD
        bough_torch.shrink()
    raises(lambda: old.allgather_coalesced([[] for _ in range(size)], []).wait(), "bough: call of nothing: ", "shrunk")


def test_no_store(rank, size):
    """The new rank 0 cannot make a store: all raise soon, and nobody is left out when they try again."""
    dist.barrier()
    original = dist.TCPStore

    def none(*_, **__):
        raise RuntimeError("no more descriptors")

    if rank == 0:
        dist.TCPStore = none
    begin = time.time()
    raises(bough_torch.shrink, "bough: shrink: there is no store for the new group: ",
           "no more descriptors" if rank == 0 else "rank 0 could not make one")
    assert time.time() - begin < 10
    dist.TCPStore = original
    bough_torch.shrink()
    x = torch.ones(7)
    dist.all_reduce(x)
    assert x[6] == size == dist.get_world_size() and dist.get_rank() == rank


def test_killed_in_shrink(rank, size):
    """Further ranks die while the survivors shrink, among them the one that has the new store."""
    original = bough_torch._store_of

    def dies(before):
        def store_of(*arguments):
            if not before:
                kept = original(*arguments)  # noqa: F841
                time.sleep(0.5)  # the others have come, too: PyTorch's clients may abort if it dies as they connect
            os.kill(os.getpid(), signal.SIGKILL)
        return store_of

    dist.barrier()
    if rank == 1:
        time.sleep(0.2)  # the others have ended the barrier, too
        os.kill(os.getpid(), signal.SIGKILL)
    raises(lambda: dist.all_reduce(torch.ones(1000)), "rank 1 is gone")
    if rank == 2:
        bough_torch._store_of = dies(before=True)
    bough_torch.shrink()
    x = torch.ones(7)
    dist.all_reduce(x)
    assert x[0] == size - 2 == dist.get_world_size()
    if rank == 0:
        bough_torch._store_of = dies(before=False)
    bough_torch.shrink()
    x = torch.ones(7)
    dist.all_reduce(x)
    assert x[0] == size - 3 == dist.get_world_size()
    dist.all_reduce(x, group=dist.new_group())
    assert x[0] == (size - 3) ** 2


def test_grow(rank, size):
    """Processes stand by, and join: one in the place of a rank that was killed, one in addition. One has another key."""
    place = {"at": "127.0.0.1:" + os.environ["MEETING_PORT"], "key": b"a secret that only the job knows"}
    store, init = meet(rank, size)
    if rank == 5:
        for bad, word in [({"at": "nowhere"}, "at: must be host:port"), ({"key": b"short"}, "key: must have 32 bytes"),
                          ({"key": ""}, "key: must be 32 bytes, or the name of a file"),
                          ({"key": "/no/such/file"}, "bough: join: key: the file cannot be opened")]:
            raises(lambda: bough_torch.join(**dict(place, **bad)), word)
        raises(lambda: _bough_torch.join([("127.0.0.1", 1)], "", "", datetime.timedelta(seconds=1), "", "0", ""),
               "bough: join: key: must have 32 bytes, and has 0")
        raises(lambda: bough_torch.join("127.0.0.1:1", place["key"], datetime.timedelta(seconds=1)),
               "bough: join: place: no group has grown there")
        store.set("at the door", "yes")
        raises(lambda: bough_torch.join(place["at"], b"x" * 32, datetime.timedelta(seconds=60)),
               "bough: join: key: the group at the meeting place has another one")
        store.set("turned away", "yes")
        return
    if rank < 3:
        init(n=3)
        dist.barrier()
        if rank == 1:
            time.sleep(0.2)  # the others have ended the barrier, too
            os.kill(os.getpid(), signal.SIGKILL)
        raises(lambda: dist.all_reduce(torch.ones(1000)), "rank 1 is gone")
        raises(lambda: bough_torch.grow(3, **place), "bough: grow: rank 1 is gone")
        bough_torch.shrink()
        store.wait(["at the door"])
        raises(lambda: bough_torch.grow(1, **place), "bough: grow: size: it is 1, and the group has 2 ranks already")
        raises(lambda: bough_torch.grow(9, **place, timeout=datetime.timedelta(seconds=2)), "of 9 ranks have come")
        many = [torch.full((50000,), 1.0 + i) for i in range(20)]
        works = [dist.all_reduce(t, async_op=True) for t in many]
        old = dist.distributed_c10d._get_default_group()
        bough_torch.grow(3, **place)  # it waits for what is in flight
        for i, (w, t) in enumerate(zip(works, many)):
            assert w.is_completed() and t[-1] == 2 * (1 + i)
        raises(lambda: old.allreduce([torch.ones(1)]).wait(), "this group has been grown: use the new one")
        raises(lambda: bough_torch._bough_torch.grow(old, 4, *bough_torch._meeting(**place), datetime.timedelta(1)),
               "this group has been grown already")
        assert dist.get_rank() == rank
    else:
        bough_torch.join(**place)
        raises(lambda: bough_torch.join(**place), "bough: join: this process is in a group already")
    if dist.get_world_size() == 3:
        assert dist.get_rank() == (1 if rank > 2 else rank)
        x = torch.ones(100000)
        dist.all_reduce(x)
        assert x[-1] == 3
        bough_torch.grow(4, **place)
    assert dist.get_world_size() == 4 and (rank > 2 or dist.get_rank() == rank)
    objects = [None] * 4
    dist.all_gather_object(objects, (dist.get_rank(), rank))
    assert [now for now, _ in objects] == [0, 1, 2, 3] and sorted(first for _, first in objects) == [0, 2, 3, 4]
    mine = dist.get_rank()
    pair = dist.new_group([1, 2])  # who joined first, and who was there before
    if mine in (1, 2):
        x = torch.tensor([float(mine)])
        dist.all_reduce(x, group=pair)
        assert x.item() == 3
        if mine == 1:
            dist.send(torch.tensor([7]), 2)
        else:
            x = torch.empty(1, dtype=torch.int64)
            dist.recv(x, 1)
            assert x.item() == 7
    assert same_on_all(train(mine, 4, 4)[0])
    whole = torch.randn(100000, generator=torch.Generator().manual_seed(mine))
    parts = whole.clone()
    dist.all_reduce(whole)
    for part in parts.split([1, 2, 5, 100, 3000, 96892]):
        dist.all_reduce(part)
    assert torch.equal(whole, parts)
    if rank == 2:
        text = bough_torch.doctor(os.environ["FOLDER"])
        assert "group0: " in text, text
        names = os.listdir(os.environ["FOLDER"])  # that of the killed rank is still there
        assert {"group0.rank%s.bough" % r for r in ("0", "1", "2", "1.joined2", "3.joined3")} <= set(names), names
    if rank == 0:
        store.wait(["turned away"])
    dist.barrier()


def test_reports(rank, size):
    """On a timeout the exception says who is missing, and the recordings say more, while ranks wait and later."""
    folder = os.environ["FOLDER"]
    store = dist.distributed_c10d._get_default_store()
    other = dist.new_group(timeout=datetime.timedelta(seconds=2))
    dist.all_reduce(torch.ones(5))
    dist.broadcast(torch.ones(7), 0, group=other)
    if rank == 1:
        time.sleep(0.5)
        hanging = bough_torch.doctor(folder)  # the others wait
        store.wait(["named0", "named2"])
    else:
        raises(lambda: dist.all_reduce(torch.ones(6), group=other),
               "bough: all_reduce: rank 1 has not come to allreduce #2 (its last call was broadcast #1)")
        assert "allreduce #2" in bough_torch.report(other) and "broadcast" not in bough_torch.report()
        store.set("named%d" % rank, "yes")
        hanging = None
    for text in (hanging, bough_torch.doctor(folder)):
        if text is not None:
            assert "group1: rank 1 has not called allreduce #2 of 24 bytes" in text and "\ngroup0: " not in text, text
            assert "group0: " in text
    raises(lambda: bough_torch.doctor("/no/such/folder"), "doctor", "/no/such/folder")
    store.set("over%d" % rank, "yes")
    if rank == 0:
        store.wait(["over1", "over2"])


def test_two_machines(rank, size):
    """Ranks of two machines (network namespaces) that share no memory: tcp listens on the way to MASTER_ADDR, or at
    the interface that BOUGH_SOCKET_IFNAME names."""
    for n in [1, 1000, 1000000]:
        x = torch.full((n,), float(rank))
        dist.all_reduce(x)
        assert x[-1] == size * (size - 1) / 2
    address = _bough_torch.address(dist.distributed_c10d._get_default_group())
    expected = "10.78.0.%d" if os.environ.get("BOUGH_SOCKET_IFNAME") == "other" else "10.77.0.%d"
    assert address == expected % (rank % 2 + 1), address
    if rank == 0:
        time.sleep(0.2)  # the others have ended the last call, too
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.time()
    raises(lambda: dist.all_reduce(torch.ones(100000)), "rank 0 is gone")
    assert time.time() - begin < 3
    bough_torch.shrink()  # the new store is reached from the other machine, too
    x = torch.ones(10)
    dist.all_reduce(x)
    assert x[0] == size - 1


test_two_machines_by_interface = test_two_machines


def test_two_machines_grow(rank, size):
    """A process of the other machine takes the place of a rank that was killed, whose machine had the store."""
    place = {"at": ["10.77.0.%d:%s" % (machine, os.environ["MEETING_PORT"]) for machine in (1, 2)], "key": b"k" * 32}
    if rank == 3:
        bough_torch.join(**place)
        assert dist.get_rank() == 0
    else:
        dist.init_process_group("bough", rank=rank, world_size=3, timeout=datetime.timedelta(seconds=60))
        dist.barrier()
        if rank == 0:
            time.sleep(0.2)  # the others have ended the barrier, too
            os.kill(os.getpid(), signal.SIGKILL)
        raises(lambda: dist.all_reduce(torch.ones(100000)), "rank 0 is gone")
        bough_torch.shrink()
        bough_torch.grow(3, **place)
        assert dist.get_rank() == rank
    address = _bough_torch.address(dist.distributed_c10d._get_default_group())
    assert address == "10.77.0.%d" % (rank % 2 + 1), address
    for n in [1, 1000, 1000000]:
        x = torch.full((n,), float(dist.get_rank()))
        dist.all_reduce(x)
        assert x[-1] == 3
    dist.barrier()


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


def sleeps_of_other_threads():
    """How often the threads of this process but the caller's have gone to sleep."""
    total = 0
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            with open("/proc/self/task/%s/status" % thread) as status:
                total += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
    return total


def test_helper(rank, size):
    """A caller that waits works itself: calls do not wake the helper each, also in bursts with pauses between."""
    dist.barrier()
    bursts, calls, busy = 20, 50, 0
    before = sleeps_of_other_threads()
    for _ in range(bursts):
        begin = time.monotonic()
        for _ in range(calls):
            dist.barrier()
        busy += time.monotonic() - begin
        time.sleep(0.01)
    sleeps = sleeps_of_other_threads() - before
    # The helper looks every 64 to 256 us while calls come, and for 2 ms after that.
    assert sleeps < 12 * bursts + busy / 200e-6 + 0.15 * bursts * calls, "%d sleeps in %.3f s of calls" % (sleeps, busy)
    # Who does not wait has a helper all the same.
    x = torch.ones(1000)
    work = dist.all_reduce(x, async_op=True)
    end = time.monotonic() + 20
    while not work.is_completed() and time.monotonic() < end:
        time.sleep(0.001)
    assert work.is_completed() and x[999] == size


def test_callbacks(rank, size):
    """Functions that wait for other operations, each within the one before; slow ones; work and future end as one."""
    dist.barrier()

    def total(f):
        return f.value()[0][0].item()

    def reduce_again(depth):
        if depth == 0:
            return 0
        inner = dist.all_reduce(torch.ones(4), async_op=True).get_future()
        return inner.then(lambda f: total(f) + reduce_again(depth - 1)).wait()

    for _ in range(20):
        assert reduce_again(5) == 5 * size
        first, second = torch.ones(400000), torch.ones(4)
        w = dist.all_reduce(first, async_op=True)  # its waiter runs the function
        f = w.get_future().then(lambda f: dist.all_reduce(second, async_op=True).wait())
        w.wait()
        assert f.wait() and second[0] == size
        # It waits for its own work, and for one that has started earlier, and may be over at the same time.
        early = dist.all_reduce(torch.ones(4), async_op=True)
        w = dist.all_reduce(torch.ones(4), async_op=True)
        assert early.get_future().then(lambda f: w.wait() and early.wait()).wait()
    # While a function of one rank is slow, other operations go on: those of waiters, and those of nobody.
    for waits in (True, False):
        dist.barrier()
        slow, other = [dist.all_reduce(torch.ones(400000), async_op=True) for _ in range(2)]
        f = slow.get_future().then(lambda f: time.sleep(1.5 if rank == 0 else 0))
        begin = time.time()
        if waits and rank == 0:
            slow.wait()
        elif waits:
            other.wait()
        else:
            other.get_future().wait()
        assert time.time() - begin < 1 or (waits and rank == 0), time.time() - begin
        f.wait()
    # Many slow functions do not take a thread each.
    dist.barrier()
    if rank == 0:
        time.sleep(0.2)  # the operations of the others wait
    many = [dist.all_reduce(torch.ones(4), async_op=True).get_future().then(lambda f: time.sleep(0.02))
            for _ in range(60)]
    most = 0
    while not all(f.done() for f in many):
        most = max(most, len(os.listdir("/proc/self/task")))
        time.sleep(0.002)
    assert most < 25, most
    for _ in range(30):
        w = dist.all_reduce(torch.ones(20000), async_op=True)
        f = w.get_future()
        while not w.is_completed():
            pass
        assert f.done()


def test_forks(rank, size):
    """A forked child leaves the group to its parent: it ends as it likes, and calls raise there."""
    dist.barrier()
    big = torch.ones(3000000)
    ends = [lambda: None, dist.destroy_process_group, lambda: raises(bough_torch.shrink, "bough: shrink: the process forked"),
            lambda: raises(lambda: dist.all_reduce(torch.ones(3)), "bough: all_reduce: the process forked"),
            lambda: bough_torch.report(), lambda: raises(works[0].wait, "bough: wait: the process forked")]
    for end in ends:
        works = [dist.all_reduce(big, async_op=True)]  # the helper holds the lock now and then
        works[0].get_future()
        child = os.fork()
        if child == 0:
            if end is ends[-1] and works[0].is_completed():
                sys.exit(0)
            end()
            sys.exit(0)  # as a program ends
        assert code_of(child, time.time() + 20) == 0
        works[0].wait()
    x = torch.ones(3)
    dist.all_reduce(x)
    assert x[0] == size


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


def long_model():
    """32 MB of weights: more than the largest bucket."""
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(40, 2000), torch.nn.Tanh(), torch.nn.Linear(2000, 2000),
                               torch.nn.ReLU(), torch.nn.Linear(2000, 2000), torch.nn.ReLU(), torch.nn.Linear(2000, 5))


def weights_of(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def same_on_all(x, group=None):
    every = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
    dist.all_gather(every, x, group=group)
    return all(torch.equal(e, x) for e in every)


def train(rank, size, steps, group=None, bucket_mb=25, make=model):
    net = torch.nn.parallel.DistributedDataParallel(make(), process_group=group, bucket_cap_mb=bucket_mb)
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
    return weights_of(net), loss.item()


def train_unevenly(rank, group=None):
    """Each rank has a batch more than the one before it; who has ended shadows the calls of the others (Join)."""
    net = torch.nn.parallel.DistributedDataParallel(model(), process_group=group)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(200 + rank)
    with net.join():
        for _ in range(4 + rank):
            x, y = torch.randn(16, 40, generator=data), torch.randint(0, 5, (16,), generator=data)
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
    return weights_of(net)


def train_in_two_groups(rank, everybody, pair):
    """Two models in one backward pass: one of all ranks, one of this rank and its neighbour."""
    wide = torch.nn.parallel.DistributedDataParallel(model(), process_group=everybody, bucket_cap_mb=0.1)
    narrow = torch.nn.parallel.DistributedDataParallel(model(), process_group=pair, bucket_cap_mb=0.1)
    optimizer = torch.optim.SGD([*wide.parameters(), *narrow.parameters()], lr=0.05)
    data = torch.Generator().manual_seed(300 + rank)
    for _ in range(6):
        x, y = torch.randn(16, 40, generator=data), torch.randint(0, 5, (16,), generator=data)
        (torch.nn.functional.cross_entropy(wide(x), y) + torch.nn.functional.cross_entropy(narrow(x), y)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return weights_of(wide), weights_of(narrow)


def test_training(rank, size):
    """As with gloo: to the last bit for two ranks, closely for more; the same bits on all ranks."""
    gloo = dist.new_group(backend="gloo")
    mine, loss = train(rank, size, 12)
    theirs, their_loss = train(rank, size, 12, gloo)
    if size == 2:
        assert torch.equal(mine, theirs) and loss == their_loss
    else:
        assert torch.allclose(mine, theirs, atol=1e-5)
    assert same_on_all(mine)


def test_uneven(rank, size):
    """Uneven inputs: as with gloo, and the same bits on all ranks."""
    mine = train_unevenly(rank)
    theirs = train_unevenly(rank, dist.new_group(backend="gloo"))
    assert torch.equal(mine, theirs) if size == 2 else torch.allclose(mine, theirs, atol=1e-5)
    assert same_on_all(mine)


def test_two_groups(rank, size):
    """Operations of two groups are in flight at once: as with gloo."""
    def groups(backend):
        pairs = [dist.new_group([first, first + 1], backend=backend) for first in range(0, size, 2)]
        return dist.new_group(backend=backend), pairs[rank // 2]

    everybody, pair = groups("bough")
    wide, narrow = train_in_two_groups(rank, everybody, pair)
    their_wide, their_narrow = train_in_two_groups(rank, *groups("gloo"))
    assert torch.equal(narrow, their_narrow) and (size == 2 or not torch.equal(narrow, wide))
    assert torch.equal(wide, their_wide) if size == 2 else torch.allclose(wide, their_wide, atol=1e-5)
    assert same_on_all(wide) and same_on_all(narrow, pair)


def test_power_sgd(rank, size):
    """A communication hook of PyTorch of which each step waits for an operation within a function of another."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
    nets = {}
    for backend in ("bough", "gloo"):
        torch.manual_seed(7)
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64), process_group=dist.new_group(backend=backend))
        net.register_comm_hook(power.PowerSGDState(net.process_group, 1, start_powerSGD_iter=2), power.powerSGD_hook)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        data = torch.Generator().manual_seed(rank)
        for _ in range(5):
            net(torch.randn(8, 64, generator=data)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        nets[backend] = weights_of(net)
    assert torch.allclose(nets["bough"], nets["gloo"], atol=1e-4) and same_on_all(nets["bough"])


def test_buckets(rank, size):
    """With BOUGH_TORCH_SAME_BITS=1 buckets of 1, 5 and 25 MiB give the same bits, on all ranks."""
    expected, _ = train(rank, size, 3, bucket_mb=25, make=long_model)
    assert expected.numel() * 4 > 25 * 2**20 and same_on_all(expected)
    for bucket_mb in (1, 5):
        got, _ = train(rank, size, 3, bucket_mb=bucket_mb, make=long_model)
        assert torch.equal(got, expected), bucket_mb


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
    """With BOUGH_TORCH_ACCUMULATE=float long sums of 16 bits are those of float in rank order, rounded."""
    for dtype in (torch.bfloat16, torch.float16):
        parts = [torch.randn(400000, generator=torch.Generator().manual_seed(r)).to(dtype) for r in range(size)]
        wide = parts[0].to(torch.float32)
        for part in parts[1:]:
            wide += part.to(torch.float32)
        x = parts[rank].clone()
        dist.all_reduce(x)
        assert torch.equal(x, wide.to(dtype))
        block = torch.empty(400000 // size, dtype=dtype)
        dist._reduce_scatter_base(block, parts[rank])
        assert torch.equal(block, wide.to(dtype)[rank * len(block):][:len(block)])
        short = parts[rank][:50].clone()
        dist.all_reduce(short)
        assert torch.allclose(short.to(torch.float32), wide[:50], rtol=2**-8, atol=1e-3)
        group = dist.new_group(timeout=datetime.timedelta(seconds=20))

        def sum_beside_average():
            dist.all_reduce(short, dist.ReduceOp.AVG if rank == 1 else dist.ReduceOp.SUM, group)
            dist.barrier(group)

        raises(sum_beside_average, "bough: ")


TESTS = {  # name: ranks, environment
    "collectives": ([1, 2, 3], {}), "ops": ([2, 4], {}), "layouts": ([3], {}), "modes": ([2], {}), "messages": ([2, 4], {}),
    "tags": ([2], {}), "idle": ([3], {}), "other_memory": ([2], {}),
    "subgroups": ([4], {}), "bad_arguments": ([2], {}), "mismatch": ([3], {}), "differing": ([2, 3], {}),
    "late": ([3], {}), "killed": ([6], {}), "shrink": ([3], {"BOUGH_TORCH_REPORTS": "FOLDER"}), "killed_in_shrink": ([6], {}),
    "shrink_alone": ([2, 3], {}), "no_store": ([3], {}), "grow": ([6], {"BOUGH_TORCH_REPORTS": "FOLDER", "BOUGH_TORCH_SAME_BITS": "1"}),
    "reports": ([3], {"BOUGH_TORCH_REPORTS": "FOLDER"}),
    "store_gone": ([3], {}), "store_goes_later": ([3], {}), "twice": ([3], {}), "world_size": ([3], {}), "environment": ([3], {}),
    "not_come": ([3], {}), "two_machines": ([4], {}),
    "two_machines_by_interface": ([2], {"BOUGH_SOCKET_IFNAME": "other"}),
    "two_machines_grow": ([4], {}),
    "callbacks": ([2, 3], {}), "power_sgd": ([2], {}), "forks": ([2], {}),
    "exits": ([3], {}), "dropped": ([3], {}), "many": ([2], {}), "apart": ([3], {}), "gone": ([3], {}), "again": ([2], {}), "helper": ([2, 4], {}),
    "training": ([2, 3, 4], {}), "uneven": ([2, 4], {}), "two_groups": ([2, 4], {}),
    "buckets": ([2, 4], {"BOUGH_TORCH_SAME_BITS": "1"}), "same_bits": ([3, 4], {"BOUGH_TORCH_SAME_BITS": "1"}),
    "rounded_once": ([2, 4], {"BOUGH_TORCH_ACCUMULATE": "float"}),
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def meeting_port():
    """One that the system gives to nobody else."""
    for port in range(20000 + os.getpid() % 5000, 32000):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


# Of these each rank is a program of its own, as it is for a user, and has its own addresses.
PROGRAMS = ["collectives", "two_machines", "two_machines_by_interface", "two_machines_grow"]
# These make their group themselves.
BY_HAND = ["grow", "two_machines_grow", "store_gone", "store_goes_later", "twice", "world_size", "environment", "not_come"]
KILLED = {"killed": [0, 3, 4, 5], "killed_in_shrink": [0, 1, 2], "grow": [1], "store_gone": [0], "store_goes_later": [0], "two_machines": [0],
          "two_machines_by_interface": [0], "two_machines_grow": [0]}


class TwoMachines:
    """Two network namespaces with two wires between them; ranks are on them in turns. They share no memory."""

    def __init__(self):
        self.holders = [subprocess.Popen(["unshare", "-n", "sleep", "300"]) for _ in range(2)]
        names = {os.readlink("/proc/self/ns/net")}
        end = time.time() + 10
        while len(names) != 3:
            assert time.time() < end
            names = {os.readlink("/proc/%s/ns/net" % p) for p in ["self"] + [h.pid for h in self.holders]}
        first, second = [str(h.pid) for h in self.holders]
        for i in range(2):
            subprocess.run(self.inside(i) + ["ip", "link", "set", "lo", "up"], check=True)
        for wire, net in (("wire", "10.77.0.%d/24"), ("other", "10.78.0.%d/24")):
            subprocess.run(["ip", "link", "add", "name", wire, "netns", first, "type", "veth", "peer", "name", wire,
                            "netns", second], check=True)
            for i in range(2):
                subprocess.run(self.inside(i) + ["ip", "address", "add", net % (i + 1), "dev", wire], check=True)
                subprocess.run(self.inside(i) + ["ip", "link", "set", wire, "up"], check=True)

    def inside(self, rank):
        return ["nsenter", "-t", str(self.holders[rank % 2].pid), "-n"]

    def end(self):
        for h in self.holders:
            h.kill()
            h.wait()


def why_no_two_machines():
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("unshare", "nsenter", "ip")):
        return "needs root, unshare, nsenter and ip"
    tried = subprocess.run(["unshare", "-n", "ip", "link", "add", "name", "one", "type", "veth", "peer", "name", "two"],
                           capture_output=True, text=True)
    return "no network namespaces here: " + tried.stderr.strip() if tried.returncode != 0 else ""


def be_rank(name):
    if name not in BY_HAND:
        dist.init_process_group("bough", timeout=datetime.timedelta(seconds=60))
        assert dist.get_backend() == "bough"
    globals()["test_" + name](int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))


def start(name, environment, out, before):
    """The id of a process that is a rank of the test, and writes to out."""
    if name in PROGRAMS:
        return subprocess.Popen([*before, sys.executable, __file__, "--rank", name],
                                env=dict(os.environ, **environment), stdout=out, stderr=out).pid
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


def run(name, size, environment, folder):
    port, meeting = str(free_port()), str(meeting_port())
    machines = TwoMachines() if name.startswith("two_machines") else None
    ranks = []
    for r in range(size):
        out = tempfile.TemporaryFile()
        own = dict(environment, RANK=str(r), WORLD_SIZE=str(size), MASTER_ADDR="10.77.0.1" if machines else "127.0.0.1",
                   MASTER_PORT=port, FIRST_PORT=port, MEETING_PORT=meeting, FOLDER=folder)
        own = {key: folder if value == "FOLDER" else value for key, value in own.items()}
        ranks.append((start(name, own, out, machines.inside(r) if machines else []), out))
    end = time.time() + 120
    good = True
    notes = []
    for r, (pid, out) in enumerate(ranks):
        code = code_of(pid, end)
        out.seek(0)
        text = out.read().decode(errors="replace")
        if code != (-9 if r in KILLED.get(name, []) else 0):
            good = False
            print("%s, rank %d of %d: %s\n%s" % (name, r, size, code, text))
        notes += [line for line in text.splitlines() if line.startswith("note: ")]
    if machines:
        machines.end()
    for line in notes:
        print("  " + line[6:])
    return good


def run_example(name, arguments):
    """Does an example print what it should?"""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
    done = subprocess.run([sys.executable, *arguments, os.path.join(folder, name + ".py")], capture_output=True,
                          text=True, timeout=120)
    with open(os.path.join(folder, "expected", name + ".txt")) as f:
        expected = f.read()
    got = "".join(line.split("]:", 1)[-1] for line in done.stdout.splitlines(True))  # torchrun names the rank
    if done.returncode != 0 or got != expected:
        print("%s: ended with %s and printed\n%s%s" % (name, done.returncode, done.stdout, done.stderr))
    return done.returncode == 0 and got == expected


EXAMPLES = {
    "54_training": ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--redirects", "1", "--tee", "1"],
    "57_training_goes_on": [],
}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--rank":
        be_rank(sys.argv[2])
        return 0
    bad = 0
    for name in sys.argv[1:] or [*TESTS, *EXAMPLES]:
        if name.startswith("two_machines") and why_no_two_machines():
            print("%-16s skipped: %s" % (name, why_no_two_machines()), flush=True)
            continue
        sizes, environment = TESTS[name] if name in TESTS else ([0], {})
        for size in sizes:
            begin = time.time()
            folder = tempfile.mkdtemp()
            good = run(name, size, environment, folder) if size else run_example(name, EXAMPLES[name])
            shutil.rmtree(folder)  # not in a `finally`: forked processes leave through here when they end
            print("%-16s %s  %s  %.1f s" % (name, "%d ranks" % size if size else "example", "ok" if good else "FAILED",
                                            time.time() - begin), flush=True)
            bad += not good
    return 1 if bad else 0


import _bough_torch  # noqa: E402
import bough_torch  # noqa: E402  registers the backend

if __name__ == "__main__":
    sys.exit(main())
