// SPDX-License-Identifier: BSL-1.0
// The process group of PyTorch 1.13 (c10d::ProcessGroup) over bough: tensors become calls of group.hpp,
// and Work is told when they are done. Nothing here knows bough.
#include "group.hpp"

#include <ATen/MemoryOverlap.h>
#include <ATen/ThreadLocalState.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <pybind11/chrono.h>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/extension.h>
#include <utility>
#include <vector>

namespace {

using bough_torch::dtype;
using bough_torch::kind;
using bough_torch::reduction;
using c10d::OpType;
using c10d::Work;
using tensors = std::vector<at::Tensor>;

dtype dtype_of(const at::Tensor& t, const char* what = "call") {
    switch (t.scalar_type()) {
    case at::kByte: return dtype::u8;
    case at::kChar: return dtype::i8;
    case at::kShort: return dtype::i16;
    case at::kInt: return dtype::i32;
    case at::kLong: return dtype::i64;
    case at::kFloat: return dtype::f32;
    case at::kDouble: return dtype::f64;
    case at::kHalf: return dtype::f16;
    case at::kBFloat16: return dtype::bf16;
    case at::kBool: return dtype::boolean;
    case at::kComplexFloat: return dtype::c64;
    case at::kComplexDouble: return dtype::c128;
    default: TORCH_CHECK(false, "bough: ", what, ": tensors of ", t.scalar_type(), " are not supported");
    }
}
reduction reduction_of(const c10d::ReduceOp& op) {
    switch (op) {
    case c10d::ReduceOp::SUM: return reduction::sum;
    case c10d::ReduceOp::AVG: return reduction::average;
    case c10d::ReduceOp::PRODUCT: return reduction::product;
    case c10d::ReduceOp::MIN: return reduction::min;
    case c10d::ReduceOp::MAX: return reduction::max;
    case c10d::ReduceOp::BAND: return reduction::band;
    case c10d::ReduceOp::BOR: return reduction::bor;
    case c10d::ReduceOp::BXOR: return reduction::bxor;
    default: TORCH_CHECK(false, "bough: this ReduceOp is not supported");
    }
}
void check(const at::Tensor& t, const char* what) {
    TORCH_CHECK(t.defined(), "bough: ", what, ": a tensor is undefined");
    TORCH_CHECK(t.device().is_cpu(), "bough: ", what, ": tensors must be on the CPU, and one is on ", t.device());
    TORCH_CHECK(t.layout() == at::kStrided, "bough: ", what, ": tensors must be dense, and one is ", t.layout());
    (void)dtype_of(t, what);
}
void check_like(const at::Tensor& t, const at::Tensor& first, const char* what) {
    check(t, what);
    TORCH_CHECK(t.scalar_type() == first.scalar_type(), "bough: ", what, ": tensors have different dtypes, ",
                first.scalar_type(), " and ", t.scalar_type());
    TORCH_CHECK(t.numel() == first.numel(), "bough: ", what, ": tensors have different sizes, ", first.sizes(), " and ",
                t.sizes());
}
const at::Tensor& only(const tensors& all, const char* what) {
    TORCH_CHECK(all.size() == 1, "bough: ", what, ": takes one tensor, not ", all.size());
    check(all[0], what);
    return all[0];
}
std::uint64_t ns_of(std::chrono::milliseconds t) {
    return t.count() <= 0 ? 0 : static_cast<std::uint64_t>(t.count()) * 1'000'000;
}

// The engine; the last of its works may outlive the process group.
using engine = std::shared_ptr<bough_torch::group>;

// Those that there are. Python ends their threads before itself: a thread that takes its lock later is
// killed, and the process with it.
struct engines {
    std::mutex guard;
    std::vector<std::weak_ptr<bough_torch::group>> all;
};
engines& live() {
    static engines those;
    return those;
}
void keep_track(const engine& g) {
    const std::lock_guard<std::mutex> lock(live().guard);
    auto& all = live().all;
    all.erase(std::remove_if(all.begin(), all.end(), [](const auto& one) { return one.expired(); }), all.end());
    all.push_back(g);
}
void stop_helpers() {
    std::vector<std::weak_ptr<bough_torch::group>> all;
    {
        const std::lock_guard<std::mutex> lock(live().guard);
        all.swap(live().all);
    }
    for (const auto& one : all)
        if (const engine g = one.lock()) bough_torch::stop_helper(g.get());
}

class BoughWork final : public Work {
public:
    BoughWork(engine g, int rank, OpType type, const char* title, tensors outputs)
        : Work(rank, type, title, outputs), engine_(std::move(g)), outputs_(std::move(outputs)),
          future_(c10::make_intrusive<at::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

    // The memory that must live until the end, also if a tensor is given other memory meanwhile, and what
    // is done then.
    std::vector<c10::Storage> kept;
    std::vector<std::vector<std::size_t>> counts;
    std::function<void()> finish_with;

    void begin(std::vector<bough_torch::call> calls) {
        self_ = c10::intrusive_ptr<BoughWork>::reclaim_copy(this);
        if (finish_with) callers_.emplace();
        bough_torch::start(engine_.get(), calls.data(), calls.size(), &BoughWork::told, &BoughWork::is_heard, this);
    }
    // The work and its future are completed at once, before functions that wait for the future run.
    bool isCompleted() override { return future_->completed(); }
    bool isSuccess() const override {
        const std::lock_guard<std::mutex> lock(mutex_);
        return completed_ && !exception_;
    }
    tensors result() override { return outputs_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
        is_heard_ = true;
        return future_;
    }
    bool wait(std::chrono::milliseconds timeout) override {
        if (!isCompleted()) {
            const bool ended = bough_torch::wait(
                engine_.get(), [](void* w) { return static_cast<BoughWork*>(w)->isCompleted(); }, this,
                timeout.count() <= 0 ? ~std::uint64_t{0} : ns_of(timeout));
            TORCH_CHECK(ended || timeout.count() > 0,
                        "bough: wait: the process forked after the operation was started, which does not end here");
            TORCH_CHECK(ended, "bough: wait: the operation has not ended after ", timeout.count(), " ms");
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        if (exception_) std::rethrow_exception(exception_);
        return true;
    }

private:
    static void told(void* context, const char* error) {
        // Ends the work's hold on itself when it returns.
        const c10::intrusive_ptr<BoughWork> self = std::move(static_cast<BoughWork*>(context)->self_);
        self->end(error);
    }
    static bool is_heard(void* context) { return static_cast<BoughWork*>(context)->is_heard_; }
    void end(const char* error) {
        std::exception_ptr bad;
        try {
            TORCH_CHECK(error == nullptr, "bough: ", error);
            if (finish_with) finish_in_modes_of_caller();
        } catch (...) {
            bad = std::current_exception();
        }
        finish_with = nullptr;
        kept.clear();
        finish(bad);
        if (bad)
            future_->setError(bad);
        else
            future_->markCompleted(c10::IValue(outputs_));
    }

    // Whichever thread this is. No gradient goes through the results.
    void finish_in_modes_of_caller() {
        const at::ThreadLocalStateGuard modes(*callers_);
        const at::NoGradGuard no_gradients;
        finish_with();
    }

    engine engine_;
    tensors outputs_;
    std::optional<at::ThreadLocalState> callers_;
    c10::intrusive_ptr<at::ivalue::Future> future_;
    c10::intrusive_ptr<BoughWork> self_; // while it is in flight
    std::atomic<bool> is_heard_{false};  // somebody has the future
};
using work_ptr = c10::intrusive_ptr<BoughWork>;

class ProcessGroupBough final : public c10d::ProcessGroup {
public:
    ProcessGroupBough(engine g, int rank, int size) : ProcessGroup(rank, size), engine_(std::move(g)) {}
    ~ProcessGroupBough() override {
        // The engine's threads may run functions of Python, which need the lock that this thread has.
        if (PyGILState_Check() != 0) {
            const pybind11::gil_scoped_release released;
            engine_.reset();
        }
    }
    const std::string getBackendName() const override { return "bough"; }
    const engine& its_engine() const { return engine_; }

    c10::intrusive_ptr<Work> allreduce(tensors& all, const c10d::AllreduceOptions& opts) override {
        return reduce_all(all, opts, OpType::ALLREDUCE);
    }
    c10::intrusive_ptr<Work> allreduce_coalesced(tensors& all, const c10d::AllreduceCoalescedOptions& opts) override {
        return reduce_all(all, opts, OpType::ALLREDUCE_COALESCED);
    }
    c10::intrusive_ptr<Work> reduce(tensors& all, const c10d::ReduceOptions& opts) override {
        const at::Tensor& t = only(all, "reduce");
        work_ptr w = made(OpType::REDUCE, "bough:reduce", all);
        bough_torch::call c = in_place(w, t, kind::reduce, opts.timeout);
        c.op = checked(reduction_of(opts.reduceOp), t);
        c.root = root_of(opts.rootRank, opts.rootTensor, "reduce");
        if (getRank() == c.root) average_after(w, t, c.op);
        return begun(w, {c});
    }
    c10::intrusive_ptr<Work> broadcast(tensors& all, const c10d::BroadcastOptions& opts) override {
        const at::Tensor& t = only(all, "broadcast");
        work_ptr w = made(OpType::BROADCAST, "bough:broadcast", all);
        bough_torch::call c = in_place(w, t, kind::broadcast, opts.timeout);
        c.root = root_of(opts.rootRank, opts.rootTensor, "broadcast");
        return begun(w, {c});
    }
    c10::intrusive_ptr<Work> allgather(std::vector<tensors>& outputs, tensors& inputs,
                                       const c10d::AllgatherOptions& opts) override {
        const at::Tensor& in = only(inputs, "all_gather");
        TORCH_CHECK(outputs.size() == 1, "bough: all_gather: takes one list of outputs");
        check_list(outputs[0], in, "all_gather");
        work_ptr w = made(OpType::ALLGATHER, "bough:all_gather", outputs[0]);
        const at::Tensor flat = block_for_each(in);
        bough_torch::call c = from_to(w, in, flat, kind::allgather, opts.timeout);
        copy_out(w, flat, outputs[0]);
        return begun(w, {c});
    }
    c10::intrusive_ptr<Work> allgather_coalesced(std::vector<tensors>& outputs, tensors& inputs,
                                                 const c10d::AllgatherOptions& opts) override {
        TORCH_CHECK(outputs.size() == static_cast<std::size_t>(getSize()),
                    "bough: all_gather_coalesced: needs a list of outputs for each rank");
        tensors all;
        for (const tensors& of_rank : outputs) {
            TORCH_CHECK(of_rank.size() == inputs.size(),
                        "bough: all_gather_coalesced: needs an output for each input and rank");
            all.insert(all.end(), of_rank.begin(), of_rank.end());
        }
        work_ptr w = made(OpType::ALLGATHER_COALESCED, "bough:all_gather_coalesced", all);
        std::vector<bough_torch::call> calls;
        for (std::size_t i = 0; i != inputs.size(); ++i) {
            tensors of_input;
            for (const tensors& of_rank : outputs) of_input.push_back(of_rank[i]);
            check(inputs[i], "all_gather_coalesced");
            check_list(of_input, inputs[i], "all_gather_coalesced");
            const at::Tensor flat = block_for_each(inputs[i]);
            calls.push_back(from_to(w, inputs[i], flat, kind::allgather, opts.timeout));
            copy_out(w, flat, of_input);
        }
        return begun(w, calls);
    }
    c10::intrusive_ptr<Work> _allgather_base(at::Tensor& out, at::Tensor& in,
                                             const c10d::AllgatherOptions& opts) override {
        check_blocks(out, in, "all_gather_into_tensor", "output", "input");
        work_ptr w = made(OpType::_ALLGATHER_BASE, "bough:all_gather_into_tensor", {out});
        return begun(w, {from_to(w, in, written(w, out), kind::allgather, opts.timeout)});
    }
    c10::intrusive_ptr<Work> reduce_scatter(tensors& outputs, std::vector<tensors>& inputs,
                                            const c10d::ReduceScatterOptions& opts) override {
        const at::Tensor& out = only(outputs, "reduce_scatter");
        TORCH_CHECK(inputs.size() == 1, "bough: reduce_scatter: takes one list of inputs");
        check_list(inputs[0], out, "reduce_scatter");
        work_ptr w = made(OpType::REDUCE_SCATTER, "bough:reduce_scatter", outputs);
        return begun(w, {scattered(w, flattened(inputs[0]), out, opts)});
    }
    c10::intrusive_ptr<Work> _reduce_scatter_base(at::Tensor& out, at::Tensor& in,
                                                  const c10d::ReduceScatterOptions& opts) override {
        check_blocks(in, out, "reduce_scatter_tensor", "input", "output");
        work_ptr w = made(OpType::_REDUCE_SCATTER_BASE, "bough:reduce_scatter_tensor", {out});
        return begun(w, {scattered(w, in, out, opts)});
    }
    c10::intrusive_ptr<Work> gather(std::vector<tensors>& outputs, tensors& inputs,
                                    const c10d::GatherOptions& opts) override {
        const at::Tensor& in = only(inputs, "gather");
        const int root = root_of(opts.rootRank, 0, "gather");
        const bool is_root = root == getRank();
        TORCH_CHECK(is_root ? outputs.size() == 1 : outputs.empty(),
                    "bough: gather: the root gives one list of outputs, and no other rank does");
        if (is_root) check_list(outputs[0], in, "gather");
        work_ptr w = made(OpType::GATHER, "bough:gather", is_root ? outputs[0] : tensors{});
        const at::Tensor flat = is_root ? block_for_each(in) : at::empty({0}, in.options());
        bough_torch::call c = from_to(w, in, flat, kind::gather, opts.timeout);
        c.root = root;
        if (is_root) copy_out(w, flat, outputs[0]);
        return begun(w, {c});
    }
    c10::intrusive_ptr<Work> scatter(tensors& outputs, std::vector<tensors>& inputs,
                                     const c10d::ScatterOptions& opts) override {
        const at::Tensor& out = only(outputs, "scatter");
        const int root = root_of(opts.rootRank, 0, "scatter");
        const bool is_root = root == getRank();
        TORCH_CHECK(is_root ? inputs.size() == 1 : inputs.empty(),
                    "bough: scatter: the root gives one list of inputs, and no other rank does");
        if (is_root) check_list(inputs[0], out, "scatter");
        work_ptr w = made(OpType::SCATTER, "bough:scatter", outputs);
        const at::Tensor flat = is_root ? flattened(inputs[0]) : at::empty({0}, out.options());
        bough_torch::call c = from_to(w, flat, written(w, out), kind::scatter, opts.timeout);
        c.count = static_cast<std::size_t>(out.numel());
        c.root = root;
        return begun(w, {c});
    }
    c10::intrusive_ptr<Work> alltoall_base(at::Tensor& out, at::Tensor& in, std::vector<int64_t>& out_splits,
                                           std::vector<int64_t>& in_splits,
                                           const c10d::AllToAllOptions& opts) override {
        const char* what = "all_to_all_single";
        check(in, what);
        check(out, what);
        TORCH_CHECK(in.scalar_type() == out.scalar_type(), "bough: ", what, ": input and output have different dtypes");
        work_ptr w = made(OpType::ALLTOALL_BASE, "bough:all_to_all_single", {out});
        const auto counts = [&](const at::Tensor& t, const std::vector<int64_t>& splits, const char* name) {
            const auto size = static_cast<std::size_t>(getSize());
            const std::int64_t rows = t.dim() == 0 ? 1 : t.size(0), row = rows == 0 ? 0 : t.numel() / rows;
            if (splits.empty()) {
                TORCH_CHECK(rows % getSize() == 0, "bough: ", what, ": ", name, ": dimension 0, ", rows,
                            ", is not a multiple of the ", getSize(), " ranks");
                return std::vector<std::size_t>(size, static_cast<std::size_t>(rows / getSize() * row));
            }
            TORCH_CHECK(splits.size() == size, "bough: ", what, ": ", name, ": needs a split for each of the ",
                        getSize(), " ranks, not ", splits.size());
            std::vector<std::size_t> made;
            std::int64_t sum = 0;
            for (const std::int64_t s : splits) {
                TORCH_CHECK(s >= 0, "bough: ", what, ": ", name, ": a split is negative");
                sum += s;
                made.push_back(static_cast<std::size_t>(s * row));
            }
            TORCH_CHECK(sum == rows, "bough: ", what, ": ", name, ": the splits make ", sum, ", and dimension 0 is ",
                        rows);
            return made;
        };
        w->counts.push_back(counts(in, in_splits, "input"));
        w->counts.push_back(counts(out, out_splits, "output"));
        bough_torch::call c = from_to(w, in, written(w, out), kind::alltoallv, opts.timeout);
        c.sends = w->counts[0].data();
        c.receives = w->counts[1].data();
        return begun(w, {c});
    }
    c10::intrusive_ptr<Work> alltoall(tensors& outputs, tensors& inputs, const c10d::AllToAllOptions& opts) override {
        const char* what = "all_to_all";
        const auto size = static_cast<std::size_t>(getSize());
        TORCH_CHECK(inputs.size() == size && outputs.size() == size, "bough: ", what, ": needs ", size,
                    " inputs and as many outputs");
        work_ptr w = made(OpType::ALLTOALL, "bough:all_to_all", outputs);
        for (const tensors* list : {&inputs, &outputs}) {
            std::vector<std::size_t> counts;
            for (const at::Tensor& t : *list) {
                check(t, what);
                TORCH_CHECK(t.scalar_type() == inputs[0].scalar_type(), "bough: ", what, ": tensors differ in dtype");
                counts.push_back(static_cast<std::size_t>(t.numel()));
            }
            w->counts.push_back(std::move(counts));
        }
        std::int64_t total = 0;
        for (const at::Tensor& t : outputs) total += t.numel();
        const at::Tensor flat = at::empty({total}, outputs[0].options());
        bough_torch::call c = from_to(w, flattened(inputs), flat, kind::alltoallv, opts.timeout);
        c.sends = w->counts[0].data();
        c.receives = w->counts[1].data();
        copy_out(w, flat, outputs);
        return begun(w, {c});
    }
    c10::intrusive_ptr<Work> barrier(const c10d::BarrierOptions& opts) override {
        bough_torch::call c;
        c.kind = kind::barrier;
        c.timeout_ns = ns_of(opts.timeout);
        return begun(made(OpType::BARRIER, "bough:barrier", {}), {c});
    }
    void monitoredBarrier(const c10d::BarrierOptions& opts, bool) override { barrier(opts)->wait(); }
    c10::intrusive_ptr<Work> send(tensors& all, int to, int tag) override {
        work_ptr w = made(OpType::SEND, "bough:send", all);
        const at::Tensor t = plain(only(all, "send"));
        w->kept.push_back(t.storage());
        return begun(w, {message(t, kind::send, to, tag)});
    }
    c10::intrusive_ptr<Work> recv(tensors& all, int from, int tag) override {
        work_ptr w = made(OpType::RECV, "bough:recv", all);
        return begun(w, {message(written(w, only(all, "recv")), kind::receive, from, tag)});
    }
    c10::intrusive_ptr<Work> recvAnysource(tensors&, int) override {
        TORCH_CHECK(false, "bough: recv: name the source: bough does not receive from any rank");
    }
    void setSequenceNumberForGroup() override {}
    uint64_t getSequenceNumberForGroup() override { return sequence_; }

private:
    work_ptr made(OpType type, const char* title, tensors outputs) {
        const char* const what = title + std::strlen("bough:");
        for (const at::Tensor& t : outputs) {
            check(t, what);
            TORCH_CHECK(type == OpType::SEND || at::has_internal_overlap(t) != at::MemOverlap::Yes, "bough: ", what,
                        ": elements of an output share their memory, as in a tensor of expand(): give its clone()");
        }
        return c10::make_intrusive<BoughWork>(engine_, getRank(), type, title, std::move(outputs));
    }
    c10::intrusive_ptr<Work> begun(const work_ptr& w, std::vector<bough_torch::call> calls) {
        ++sequence_;
        w->begin(std::move(calls));
        return w;
    }
    // Its memory has its values, one after the other: nothing is to be conjugated or negated when it is
    // read.
    static bool is_plain(const at::Tensor& t) { return t.is_contiguous() && !t.is_conj() && !t.is_neg(); }
    static at::Tensor plain(const at::Tensor& t) { return t.resolve_conj().resolve_neg().contiguous(); }
    // The memory of a result; its tensor gets it at the end, if that is not plain.
    at::Tensor written(const work_ptr& w, const at::Tensor& t) {
        const at::NoGradGuard no_gradients;
        const at::Tensor dense = is_plain(t) ? t : plain(t);
        w->kept.push_back(dense.storage());
        if (!is_plain(t)) after(w, [t, dense] { t.copy_(dense); });
        return dense;
    }
    static void after(const work_ptr& w, std::function<void()> f) {
        if (!w->finish_with)
            w->finish_with = std::move(f);
        else
            w->finish_with = [first = std::move(w->finish_with), then = std::move(f)] { first(), then(); };
    }
    bough_torch::call in_place(const work_ptr& w, const at::Tensor& t, kind what, std::chrono::milliseconds timeout) {
        bough_torch::call c;
        c.kind = what;
        c.type = dtype_of(t);
        c.out = written(w, t).data_ptr();
        c.count = static_cast<std::size_t>(t.numel());
        c.timeout_ns = ns_of(timeout);
        return c;
    }
    bough_torch::call from_to(const work_ptr& w, const at::Tensor& in, const at::Tensor& out, kind what,
                              std::chrono::milliseconds timeout) {
        const at::NoGradGuard no_gradients;
        bough_torch::call c;
        c.kind = what;
        c.type = dtype_of(in);
        const at::Tensor dense = plain(in);
        w->kept.push_back(dense.storage());
        w->kept.push_back(out.storage());
        c.in = dense.data_ptr();
        c.out = out.data_ptr();
        c.count = static_cast<std::size_t>(in.numel());
        c.timeout_ns = ns_of(timeout);
        return c;
    }
    bough_torch::call scattered(const work_ptr& w, const at::Tensor& in, const at::Tensor& out,
                                const c10d::ReduceScatterOptions& opts) {
        bough_torch::call c = from_to(w, in, written(w, out), kind::reduce_scatter, opts.timeout);
        c.count = static_cast<std::size_t>(out.numel());
        c.op = checked(reduction_of(opts.reduceOp), out);
        average_after(w, out, c.op);
        return c;
    }
    bough_torch::call message(const at::Tensor& t, kind what, int other, int tag) {
        bough_torch::call c;
        c.kind = what;
        c.type = dtype_of(t);
        c.out = t.data_ptr();
        c.count = static_cast<std::size_t>(t.numel());
        c.root = other;
        c.tag = tag;
        return c;
    }
    template <class Options>
    c10::intrusive_ptr<Work> reduce_all(tensors& all, const Options& opts, OpType type) {
        TORCH_CHECK(!all.empty(), "bough: all_reduce: takes at least one tensor");
        work_ptr w = made(type, "bough:all_reduce", all);
        std::vector<bough_torch::call> calls;
        for (const at::Tensor& t : all) {
            check(t, "all_reduce");
            bough_torch::call c = in_place(w, t, kind::allreduce, opts.timeout);
            c.op = checked(reduction_of(opts.reduceOp), t);
            calls.push_back(c);
            average_after(w, t, c.op);
        }
        return begun(w, calls);
    }
    static reduction checked(reduction op, const at::Tensor& t) {
        TORCH_CHECK(op != reduction::average || t.is_floating_point() || t.is_complex(), "bough: the average of ",
                    t.scalar_type(), " is not one: use SUM");
        return op;
    }
    // 16 bits are divided before they are rounded, by the engine.
    void average_after(const work_ptr& w, const at::Tensor& t, reduction op) {
        if (op != reduction::average || t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16) return;
        after(w, [t, size = getSize()] { t.div_(size); });
    }
    int root_of(int64_t rank, int64_t tensor, const char* what) const {
        TORCH_CHECK(rank >= 0 && rank < getSize(), "bough: ", what, ": rank ", rank, " is not one of the ", getSize());
        TORCH_CHECK(tensor == 0, "bough: ", what, ": takes one tensor");
        return static_cast<int>(rank);
    }
    void check_list(const tensors& list, const at::Tensor& one, const char* what) const {
        TORCH_CHECK(list.size() == static_cast<std::size_t>(getSize()), "bough: ", what,
                    ": needs a tensor for each of ", "the ", getSize(), " ranks, not ", list.size());
        for (const at::Tensor& t : list) check_like(t, one, what);
    }
    void check_blocks(const at::Tensor& all, const at::Tensor& one, const char* what, const char* large,
                      const char* small) const {
        check(all, what);
        check(one, what);
        TORCH_CHECK(all.scalar_type() == one.scalar_type(), "bough: ", what, ": input and output differ in dtype");
        TORCH_CHECK(all.numel() == one.numel() * getSize(), "bough: ", what, ": the ", large, " must have ", getSize(),
                    " times the elements of the ", small, ", and they have ", all.numel(), " and ", one.numel());
    }
    at::Tensor block_for_each(const at::Tensor& one) const {
        return at::empty({static_cast<std::int64_t>(getSize()) * one.numel()}, one.options());
    }
    static at::Tensor flattened(const tensors& list) {
        const at::NoGradGuard no_gradients;
        tensors rows;
        for (const at::Tensor& t : list) rows.push_back(t.reshape({-1}));
        return at::cat(rows);
    }
    static void copy_out(const work_ptr& w, const at::Tensor& flat, const tensors& to) {
        after(w, [flat, to] {
            std::int64_t first = 0;
            for (const at::Tensor& t : to) {
                t.copy_(flat.narrow(0, first, t.numel()).reshape(t.sizes()));
                first += t.numel();
            }
        });
    }

    engine engine_;
    std::atomic<std::uint64_t> sequence_{0};
};

// --- the Store, as the engine sees it ---

struct watched_store {
    c10d::Store& its;
    std::string why;

    // What f() returns; 2 if the store threw, which is kept.
    template <class F>
    int attempt(F&& f) {
        try {
            return f();
        } catch (const c10::Error& e) {
            why = e.what_without_backtrace();
        } catch (const std::exception& e) {
            why = e.what();
        } catch (...) {
            why = "an unknown exception";
        }
        why = why.substr(0, why.find('\n'));
        return 2;
    }
};
int set_in_store(void* context, const char* key, const void* data, std::size_t bytes) {
    auto& store = *static_cast<watched_store*>(context);
    return store.attempt([&] {
        const auto* first = static_cast<const std::uint8_t*>(data);
        store.its.set(key, std::vector<std::uint8_t>(first, first + bytes));
        return 0;
    });
}
int get_from_store(void* context, const char* key, void* data, std::size_t bytes, std::uint64_t timeout_ns) {
    auto& store = *static_cast<watched_store*>(context);
    const auto begin = std::chrono::steady_clock::now();
    const std::chrono::milliseconds patience(timeout_ns / 1'000'000 + 1);
    const int result = store.attempt([&] {
        store.its.wait({key}, patience);
        const std::vector<std::uint8_t> value = store.its.get(key);
        if (value.size() != bytes) return 3;
        std::memcpy(data, value.data(), bytes);
        return 0;
    });
    return result == 2 && std::chrono::steady_clock::now() - begin >= patience ? 1 : result;
}
int add_in_store(void* context, const char* key, std::int64_t value, std::int64_t& sum) {
    auto& store = *static_cast<watched_store*>(context);
    return store.attempt([&] {
        sum = store.its.add(key, value);
        return 0;
    });
}
const char* why_not(void* context) { return static_cast<watched_store*>(context)->why.c_str(); }

// Where the machine of the store is; empty: the store does not know.
std::string host_of(c10::intrusive_ptr<c10d::Store> store) {
    while (auto* const prefixed = dynamic_cast<c10d::PrefixStore*>(store.get())) store = prefixed->getUnderlyingStore();
    const auto* const its = dynamic_cast<const c10d::TCPStore*>(store.get());
    return its != nullptr ? its->getHost() : std::string();
}
engine owned(bough_torch::group* made, const char* what, const char* why) {
    TORCH_CHECK(made != nullptr, "bough: ", what, ": ", why);
    engine g(made, [](bough_torch::group* last) { bough_torch::free(last); });
    keep_track(g);
    return g;
}
c10::intrusive_ptr<c10d::ProcessGroup> make(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds timeout, bool same_bits, bool accumulate_in_float,
                                            const std::string& reports, const std::string& name,
                                            const std::string& interface) {
    watched_store watched{*store, {}};
    const bough_torch::store where{&watched, &set_in_store, &get_from_store, &add_in_store, &why_not};
    bough_torch::options options;
    options.timeout_ns = ns_of(timeout);
    options.same_bits = same_bits;
    options.accumulate_in_float = accumulate_in_float;
    const std::string host = host_of(store);
    options.meets_at = host.c_str();
    options.interface = interface.c_str();
    options.reports = reports.c_str();
    options.name = name.c_str();
    char why[1024] = "";
    bough_torch::group* const made = bough_torch::make(rank, size, where, options, why, sizeof why);
    return c10::make_intrusive<ProcessGroupBough>(owned(made, "init_process_group", why), rank, size);
}

const engine& engine_of(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const char* what) {
    const auto* const its = dynamic_cast<const ProcessGroupBough*>(group.get());
    TORCH_CHECK(its != nullptr, "bough: ", what, ": group: is not one of the backend bough");
    return its->its_engine();
}
c10::intrusive_ptr<c10d::ProcessGroup> shrink(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                              std::chrono::milliseconds timeout, bool majority) {
    int rank = 0, size = 0;
    char why[1024] = "";
    bough_torch::group* const made =
        bough_torch::shrink(engine_of(group, "shrink").get(), ns_of(timeout), majority, rank, size, why, sizeof why);
    return c10::make_intrusive<ProcessGroupBough>(owned(made, "shrink", why), rank, size);
}
// Where to meet, as Python says it: pairs of a host and a port; a key, or the name of a file that has it.
class meeting_of {
public:
    meeting_of(const std::vector<std::pair<std::string, int>>& at, const std::string& key,
               const std::string& key_file) {
        for (const auto& [host, port] : at) {
            hosts_.push_back(host.c_str());
            ports_.push_back(static_cast<std::uint16_t>(port));
        }
        its_.hosts = hosts_.data();
        its_.ports = ports_.data();
        its_.count = at.size();
        its_.key = key_file.empty() ? key.data() : nullptr;
        its_.key_bytes = key.size();
        its_.key_file = key_file.c_str();
    }
    const bough_torch::meeting& its() const { return its_; }

private:
    std::vector<const char*> hosts_;
    std::vector<std::uint16_t> ports_;
    bough_torch::meeting its_;
};
c10::intrusive_ptr<c10d::ProcessGroup> grow(const c10::intrusive_ptr<c10d::ProcessGroup>& group, int size,
                                            const std::vector<std::pair<std::string, int>>& at, const std::string& key,
                                            const std::string& key_file, std::chrono::milliseconds timeout) {
    int rank = 0;
    char why[1024] = "";
    bough_torch::group* const made =
        bough_torch::grow(engine_of(group, "grow").get(), meeting_of(at, key, key_file).its(), size, ns_of(timeout),
                          rank, why, sizeof why);
    return c10::make_intrusive<ProcessGroupBough>(owned(made, "grow", why), rank, size);
}
c10::intrusive_ptr<c10d::ProcessGroup> join(const std::vector<std::pair<std::string, int>>& at, const std::string& key,
                                            const std::string& key_file, std::chrono::milliseconds timeout,
                                            const std::string& reports, const std::string& name,
                                            const std::string& interface) {
    bough_torch::options options;
    options.interface = interface.c_str();
    options.reports = reports.c_str();
    options.name = name.c_str();
    int rank = 0, size = 0;
    char why[1024] = "";
    bough_torch::group* const made =
        bough_torch::join(meeting_of(at, key, key_file).its(), options, ns_of(timeout), rank, size, why, sizeof why);
    return c10::make_intrusive<ProcessGroupBough>(owned(made, "join", why), rank, size);
}
// Have all that are alive said yes? Have all ranks taken part?
std::pair<bool, bool> agree(const c10::intrusive_ptr<c10d::ProcessGroup>& group, bool mine,
                            std::chrono::milliseconds timeout) {
    char why[1024] = "";
    bough_torch::agreement reached;
    const bool is_known =
        bough_torch::agree(engine_of(group, "agree").get(), mine, ns_of(timeout), reached, why, sizeof why);
    TORCH_CHECK(is_known, "bough: agree: ", why);
    return {reached.all_said_yes, reached.nobody_is_gone};
}
std::string report(const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
    std::string made;
    bough_torch::report(
        engine_of(group, "report").get(), [](void* to, const char* text) { *static_cast<std::string*>(to) = text; },
        &made);
    return made;
}
std::string diagnose(const std::vector<std::string>& files) {
    std::string made;
    std::vector<const char*> names;
    for (const std::string& file : files) names.push_back(file.c_str());
    bough_torch::diagnose(
        names.data(), names.size(), [](void* to, const char* text) { *static_cast<std::string*>(to) = text; }, &made);
    return made;
}

} // namespace

PYBIND11_MODULE(_bough_torch, m) {
    using released = pybind11::call_guard<pybind11::gil_scoped_release>;
    m.def("make", &make, pybind11::arg("store"), pybind11::arg("rank"), pybind11::arg("size"), pybind11::arg("timeout"),
          pybind11::arg("same_bits"), pybind11::arg("accumulate_in_float"), pybind11::arg("reports"),
          pybind11::arg("name"), pybind11::arg("interface"), released());
    m.def(
        "address",
        [](const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
            return std::string(bough_torch::address(engine_of(group, "address").get()));
        },
        pybind11::arg("group"));
    m.def("shrink", &shrink, pybind11::arg("group"), pybind11::arg("timeout"), pybind11::arg("majority"), released());
    m.def("grow", &grow, pybind11::arg("group"), pybind11::arg("size"), pybind11::arg("at"), pybind11::arg("key"),
          pybind11::arg("key_file"), pybind11::arg("timeout"), released());
    m.def("join", &join, pybind11::arg("at"), pybind11::arg("key"), pybind11::arg("key_file"), pybind11::arg("timeout"),
          pybind11::arg("reports"), pybind11::arg("name"), pybind11::arg("interface"), released());
    m.def(
        "changes",
        [](const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
            return bough_torch::changes(engine_of(group, "changes").get());
        },
        pybind11::arg("group"));
    m.def("agree", &agree, pybind11::arg("group"), pybind11::arg("mine"), pybind11::arg("timeout"), released());
    m.def("report", &report, pybind11::arg("group"), released());
    m.def("diagnose", &diagnose, pybind11::arg("files"), released());
    m.def("stop_helpers", &stop_helpers, released());
    m.def(
        "monitored_barrier",
        [](const c10::intrusive_ptr<c10d::ProcessGroup>& group, std::chrono::milliseconds timeout) {
            c10d::BarrierOptions options;
            options.timeout = timeout;
            group->monitoredBarrier(options, false);
        },
        released());
}
