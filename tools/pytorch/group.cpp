// SPDX-License-Identifier: BSL-1.0
// The engine of the process group: a communicator over shared memory and tcp, operations in flight, and a
// thread that moves them on while no caller does. A caller that waits works itself, so that a blocking
// collective needs no other thread.
#include "group.hpp"

#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/gather.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>
#include <bough/op/logical.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/run_time.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/composite_tcp.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bough_torch {

namespace {

using transport = bough::shared_memory_tcp;
using communicator = bough::communicator<transport>;
using clock_type = std::chrono::steady_clock;

// A wire-up over a key-value store.
class store_wire_up {
public:
    store_wire_up(const store& where, bough::rank_t rank, bough::rank_t size)
        : store_(where), rank_(rank), size_(size) {}
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (const bough::status bad = bough::check_exchange(mine, all, size_)) return bad;
        const std::uint64_t last = bough::deadline_after(bough::detail::steady_now_ns(), timeout_ns);
        const std::string turn = "bough/" + std::to_string(turn_++) + "/";
        // A byte in front: a store may not take values of no bytes.
        std::vector<std::byte> said(mine.size() + 1);
        std::copy(mine.begin(), mine.end(), said.begin() + 1);
        if (store_.set(store_.context, (turn + std::to_string(rank_)).c_str(), said.data(), said.size()) != 0)
            return {.code = bough::errc::peer_dead};
        for (bough::rank_t r = 0; r != size_; ++r) {
            const std::uint64_t now = bough::detail::steady_now_ns();
            const int bad = store_.get(store_.context, (turn + std::to_string(r)).c_str(), said.data(), said.size(),
                                       last > now ? last - now : 1);
            if (bad != 0) return {.code = bad == 1 ? bough::errc::deadline : bough::errc::peer_dead, .peer = r};
            std::copy(said.begin() + 1, said.end(), all.begin() + static_cast<std::ptrdiff_t>(r * mine.size()));
        }
        return {};
    }

private:
    store store_;
    bough::rank_t rank_, size_;
    std::uint64_t turn_ = 0;
};

constexpr std::size_t size_of(dtype t) noexcept {
    switch (t) {
    case dtype::u8:
    case dtype::i8:
    case dtype::boolean: return 1;
    case dtype::i16:
    case dtype::f16:
    case dtype::bf16: return 2;
    case dtype::i32:
    case dtype::f32: return 4;
    case dtype::i64:
    case dtype::f64:
    case dtype::c64: return 8;
    case dtype::c128: return 16;
    }
    return 0;
}
bough::run_time_type type_of(dtype t, int tag = 0) noexcept {
    return {.size = size_of(t),
            .identity = bough::detail::mix_hash(0x746f'7263'6800u + static_cast<unsigned>(t), unsigned(tag)),
            .alignment = std::min<std::size_t>(size_of(t), 8)};
}

// An empty op: the type does not take it.
template <class T>
bough::any_op op_on(reduction r) {
    const auto take = []<class O>(O op) -> bough::any_op {
        if constexpr (bough::Op<O, T>)
            return bough::make_any_op<T>(op);
        else
            return {};
    };
    switch (r) {
    case reduction::average:
    case reduction::sum: return take(bough::plus{});
    case reduction::product: return take(bough::multiplies{});
    case reduction::min: return take(bough::min{});
    case reduction::max: return take(bough::max{});
    case reduction::band: return take(bough::bit_and{});
    case reduction::bor: return take(bough::bit_or{});
    case reduction::bxor: return take(bough::bit_xor{});
    }
    return {};
}
bough::any_op op_on_bool(reduction r) {
    switch (r) {
    case reduction::sum:
    case reduction::max:
    case reduction::bor: return bough::make_any_op<bool>(bough::logical_or{});
    case reduction::product:
    case reduction::min:
    case reduction::band: return bough::make_any_op<bool>(bough::logical_and{});
    case reduction::bxor: return bough::make_any_op<bool>(bough::logical_xor{});
    case reduction::average: break;
    }
    return {};
}
bough::any_op op_of(dtype t, reduction r) {
    switch (t) {
    case dtype::u8: return op_on<std::uint8_t>(r);
    case dtype::i8: return op_on<std::int8_t>(r);
    case dtype::i16: return op_on<std::int16_t>(r);
    case dtype::i32: return op_on<std::int32_t>(r);
    case dtype::i64: return op_on<std::int64_t>(r);
    case dtype::f32: return op_on<float>(r);
    case dtype::f64: return op_on<double>(r);
    case dtype::f16: return op_on<bough::fp16>(r);
    case dtype::bf16: return op_on<bough::bf16>(r);
    case dtype::boolean: return op_on_bool(r);
    case dtype::c64: return op_on<std::complex<float>>(r);
    case dtype::c128: return op_on<std::complex<double>>(r);
    }
    return {};
}

constexpr const char* name_of(kind k) noexcept {
    constexpr const char* names[] = {"all_reduce", "reduce",     "broadcast",  "all_gather", "reduce_scatter", "gather",
                                     "scatter",    "all_to_all", "all_to_all", "barrier",    "send",           "recv"};
    return names[static_cast<std::size_t>(k)];
}

struct job {
    struct part {
        bough::operation operation;
        const char* name;
    };
    std::vector<part> parts;
    done* told = nullptr;
    void* context = nullptr;
    std::string error{};

    // With the lock, as all that touches operations: also a handle that ends gives memory back to the
    // communicator.
    bool is_over() {
        for (part& p : parts)
            if (!p.operation.done()) return false;
        for (part& p : parts)
            if (error.empty() && p.operation.result())
                error = std::string(p.name) + ": " + bough::message_of(p.operation.result());
        parts.clear();
        return true;
    }
    // Without a lock: whoever is told may start the next one.
    void tell() { told(context, error.empty() ? nullptr : error.c_str()); }
};

} // namespace

struct group {
public:
    group(transport link, const options& chosen, bough::rank_t rank, bough::rank_t size)
        : options_(chosen), comm_(std::move(link), {.timeout_ns = chosen.timeout_ns}), rank_(rank), size_(size),
          helper_([this] { help(); }) {}
    group(const group&) = delete;
    ~group() {
        stop_helper();
        std::vector<std::unique_ptr<job>> given_up;
        {
            const std::lock_guard lock(mutex_);
            given_up.swap(in_flight_);
            for (auto& j : given_up)
                for (job::part& p : j->parts) {
                    p.operation.cancel();
                    bough::status ignored;
                    p.operation.wait(ignored);
                }
            for (auto& j : given_up) (void)j->is_over();
        }
        for (auto& j : given_up) j->tell();
    }

    void stop_helper() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        if (helper_.joinable()) helper_.join();
    }
    // The last who knows the group may be a job of its own, which the helper tells that it is over: no
    // thread can wait for itself, so then the helper destroys the group when it is back.
    void end() {
        if (std::this_thread::get_id() == helper_.get_id())
            is_orphan_ = true;
        else
            delete this;
    }
    void start(const call* calls, std::size_t count, done* told, void* context) {
        auto made = std::make_unique<job>();
        made->told = told;
        made->context = context;
        std::vector<std::unique_ptr<job>> over;
        bool is_left = false;
        {
            ++starters_;
            const std::lock_guard lock(mutex_);
            --starters_;
            try {
                made->parts.reserve(count);
                for (std::size_t i = 0; i != count; ++i)
                    made->parts.push_back({started(calls[i]), name_of(calls[i].kind)});
            } catch (const std::exception& e) {
                made->error = e.what();
            }
            in_flight_.push_back(std::move(made));
            collect(over);
            is_left = !in_flight_.empty();
        }
        for (auto& j : over) j->tell();
        if (is_left) changed_.notify_one();
    }
    bool wait(bool (*is_over)(void*), void* context, std::uint64_t timeout_ns) {
        const std::uint64_t last = bough::deadline_after(bough::detail::steady_now_ns(), timeout_ns);
        ++waiters_;
        while (!is_over(context)) {
            if (bough::detail::steady_now_ns() >= last) break;
            if (starters_ != 0) std::this_thread::yield();
            std::vector<std::unique_ptr<job>> over;
            bool was_idle = false;
            {
                const std::lock_guard lock(mutex_);
                look_at_deadlines();
                collect(over);
                if (over.empty() && !is_over(context)) was_idle = !wait_a_little();
                collect(over);
            }
            for (auto& j : over) j->tell();
            if (was_idle) std::this_thread::sleep_for(std::chrono::microseconds(20)); // another thread tells it now
        }
        if (--waiters_ == 0) changed_.notify_one();
        return is_over(context);
    }

private:
    // Waits for the first that is in flight, which moves all. False: there is none.
    bool wait_a_little() {
        for (auto& j : in_flight_)
            for (job::part& p : j->parts)
                if (!p.operation.done()) return p.operation.wait_for_ns(500'000), true;
        return false;
    }
    // Waits of half a millisecond are too short for the session to do so itself.
    void look_at_deadlines() {
        const clock_type::time_point now = clock_type::now();
        if (now < next_look_) return;
        next_look_ = now + std::chrono::milliseconds(5);
        comm_.shared_session()->check_deadlines();
    }
    void collect(std::vector<std::unique_ptr<job>>& over) {
        for (auto& j : in_flight_)
            if (j->is_over()) over.push_back(std::move(j));
        std::erase_if(in_flight_, [](const auto& j) { return !j; });
    }
    void help() {
        std::uint32_t idle = 0;
        std::vector<std::unique_ptr<job>> over;
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stopping_ || (!in_flight_.empty() && waiters_ == 0); });
            if (stopping_) return;
            const bool moved = comm_.progress();
            look_at_deadlines();
            collect(over);
            lock.unlock();
            for (auto& j : over) j->tell();
            if (is_orphan_) {
                helper_.detach();
                delete this;
                return;
            }
            idle = moved || !over.empty() ? 0 : idle + 1;
            over.clear();
            if (idle < 50)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(std::min<std::uint32_t>(idle - 49, 100)));
            lock.lock();
        }
    }

    bough::operation started(const call& c) {
        bough::operation made = started_as(c);
        if (c.timeout_ns != 0) made.set_timeout_ns(c.timeout_ns);
        return made;
    }
    bough::operation started_as(const call& c) {
        using bough::const_elements, bough::elements, bough::root;
        const bough::run_time_type type = type_of(c.type);
        const root at{static_cast<bough::rank_t>(c.root)};
        const std::size_t all = c.count * size_;
        const elements out{c.out, c.count, type, {}};
        const bool combines = c.kind == kind::allreduce || c.kind == kind::reduce || c.kind == kind::reduce_scatter;
        bough::any_op op;
        if (combines) {
            if (const bool is_narrow = c.type == dtype::f16 || c.type == dtype::bf16;
                is_narrow && c.kind != kind::reduce_scatter &&
                (c.op == reduction::average || (c.op == reduction::sum && options_.accumulate_in_float)))
                return c.type == dtype::f16 ? rounded_once<bough::fp16>(c) : rounded_once<bough::bf16>(c);
            op = op_of(c.type, c.op);
            if (!op) throw std::runtime_error(std::string(name_of(c.kind)) + ": this dtype does not take this op");
        }
        switch (c.kind) {
        case kind::allreduce: return bough::start_allreduce(comm_, out, op, choice());
        case kind::reduce: return bough::start_reduce(comm_, out, op, at, choice());
        case kind::broadcast: return bough::start_broadcast(comm_, out, at);
        case kind::allgather:
            return bough::start_allgather(comm_, const_elements{c.in, c.count, type, {}},
                                          elements{c.out, all, type, {}});
        case kind::reduce_scatter:
            return bough::start_reduce_scatter(comm_, const_elements{c.in, all, type, {}}, out, op, choice());
        case kind::gather:
            return bough::start_gather(comm_, const_elements{c.in, c.count, type, {}},
                                       elements{c.out, rank_ == at.rank ? all : 0, type, {}}, at);
        case kind::scatter:
            return bough::start_scatter(comm_, const_elements{c.in, rank_ == at.rank ? all : 0, type, {}}, out, at);
        case kind::alltoall:
            return bough::start_alltoall(comm_, const_elements{c.in, all, type, {}}, elements{c.out, all, type, {}});
        case kind::alltoallv: {
            const std::span<const std::size_t> sends(c.sends, size_), receives(c.receives, size_);
            const auto sum = [](std::span<const std::size_t> x) {
                std::size_t total = 0;
                for (const std::size_t n : x) total += n;
                return total;
            };
            return bough::start_alltoallv(comm_, const_elements{c.in, sum(sends), type, {}}, sends,
                                          elements{c.out, sum(receives), type, {}}, receives);
        }
        case kind::barrier: return bough::start_barrier(comm_);
        case kind::send:
        case kind::receive: {
            const bool sends = c.kind == kind::send;
            if (c.root < 0 || at.rank >= size_ || at.rank == rank_)
                throw std::runtime_error(std::string(name_of(c.kind)) + ": must name another rank of the group");
            communicator& pair = sends ? pair_of(rank_, at.rank) : pair_of(at.rank, rank_);
            return bough::start_broadcast(pair, elements{c.out, c.count, type_of(c.type, c.tag), {}}, root{0});
        }
        }
        return bough::start_barrier(comm_);
    }
    template <class T>
    bough::operation rounded_once(const call& c) {
        const std::span<T> data(static_cast<T*>(c.out), c.count);
        const bough::rounded_once<> op{.after = c.op == reduction::average ? 1.0f / static_cast<float>(size_) : 1.0f};
        if (c.kind == kind::allreduce) return bough::start_allreduce(comm_, data, op, choice());
        return bough::start_reduce(comm_, data, op, bough::root{static_cast<bough::rank_t>(c.root)}, choice());
    }
    bough::automatic choice() const {
        if (!options_.same_bits) return {};
        return {.required = bough::same_bits_for_any_partition};
    }
    // The two ranks between which messages go this way: the first sends. Both know its number, so making
    // it needs no message.
    communicator& pair_of(bough::rank_t from, bough::rank_t to) {
        const auto known = pairs_.find({from, to});
        if (known != pairs_.end()) return known->second;
        const std::uint64_t number = 1 + std::uint64_t{from} * size_ + to;
        if (number >= 65000) throw std::runtime_error("send, recv: only in groups of up to 254 ranks");
        const auto context = static_cast<std::uint16_t>(number);
        const auto& shared = comm_.shared_session();
        shared->with_lock([&] { return shared->contexts().claim(context); });
        const std::vector<bough::rank_t> both{from, to};
        return pairs_.emplace(std::pair(from, to), communicator(shared, both, context, comm_.options_among(both)))
            .first->second;
    }

    const options options_;
    std::mutex mutex_; // of comm_, pairs_ and all operations
    std::condition_variable changed_;
    std::atomic<int> waiters_{0}, starters_{0};
    bool stopping_ = false;
    bool is_orphan_ = false; // of the helper alone
    communicator comm_;
    std::map<std::pair<bough::rank_t, bough::rank_t>, communicator> pairs_;
    std::vector<std::unique_ptr<job>> in_flight_;
    clock_type::time_point next_look_{};
    const bough::rank_t rank_, size_;
    std::thread helper_; // last: it uses the others
};

group* make(int rank, int size, const store& where, const options& chosen, char* error, std::size_t bytes) {
    const auto fail = [&](const char* why) -> group* {
        std::snprintf(error, bytes, "%s", why);
        return nullptr;
    };
    if (size < 1 || rank < 0 || rank >= size) return fail("rank must be below world_size");
    try {
        const auto me = static_cast<bough::rank_t>(rank), all = static_cast<bough::rank_t>(size);
        store_wire_up wire(where, me, all);
        bough::status s;
        bough::composite_options how;
        if (chosen.timeout_ns < how.timeout_ns) how.timeout_ns = chosen.timeout_ns;
        std::optional<transport> link = bough::join_composite(wire, how, s);
        if (s) return fail(bough::message_of(s).c_str());
        return new group(std::move(*link), chosen, me, all);
    } catch (const std::exception& e) {
        return fail(e.what());
    }
}
void free(group* g) { g->end(); }
void stop_helper(group* g) { g->stop_helper(); }
void start(group* g, const call* calls, std::size_t count, done* told, void* context) {
    g->start(calls, count, told, context);
}
bool wait(group* g, bool (*over)(void*), void* context, std::uint64_t timeout_ns) {
    return g->wait(over, context, timeout_ns);
}

} // namespace bough_torch
