// SPDX-License-Identifier: BSL-1.0
// The engine of the process group: a communicator over shared memory and tcp, operations in flight, and a
// helper, a thread that moves them on while no caller does. A caller that waits works itself, so that a
// blocking collective needs no other thread.
//
// When a job is over, its `done` may run callbacks of the program, which can be slow, and can wait for other
// jobs. So a thread that calls `done` moves nothing on meanwhile, and another one is the helper: a further
// thread, if all others are busy with callbacks.
#include "group.hpp"

#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/core/absence.hpp>
#include <bough/gather.hpp>
#include <bough/group.hpp>
#include <bough/grow.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/logical.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>
#include <bough/operation.hpp>
#include <bough/os/address.hpp>
#include <bough/os/forks.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/report.hpp>
#include <bough/report/recording_file.hpp>
#include <bough/run_time.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/composite_tcp.hpp>
#include <bough/transport/tcp/hosts.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bough_torch {

namespace {

using transport = bough::shared_memory_tcp;
using communicator = bough::communicator<transport>;
using clock_type = std::chrono::steady_clock;

// Where tcp listens: at the interface, or on the way to the first of the hosts to which one leads.
std::string address_of(const options& chosen, const std::vector<std::string>& hosts) {
    if (*chosen.interface != '\0') {
        using state = bough::detail::interface_state;
        state how{};
        std::string found = bough::detail::address_of_interface(chosen.interface, how);
        const std::string name = std::string("'") + chosen.interface + "'";
        if (how == state::unknown)
            throw std::runtime_error("BOUGH_SOCKET_IFNAME: this machine has no interface " + name);
        if (how != state::usable)
            throw std::runtime_error("BOUGH_SOCKET_IFNAME: the interface " + name +
                                     (how == state::down ? " is down" : " has no address"));
        return found;
    }
    for (const std::string& host : hosts)
        if (std::string found = bough::detail::address_towards(host); !found.empty()) return found;
    return "127.0.0.1";
}
// No step of joining takes longer than this.
bough::composite_options joining_within(std::uint64_t timeout_ns) {
    bough::composite_options joining;
    for (std::uint64_t* patience : {&joining.timeout_ns, &joining.inside.join_timeout_ns, &joining.between.timeout_ns})
        *patience = std::min(*patience, timeout_ns);
    return joining;
}
bough::meeting_place place_of(const meeting& where) {
    bough::meeting_place place;
    for (std::size_t i = 0; i != where.count; ++i) place.hosts.push_back({where.hosts[i], where.ports[i]});
    if (where.key == nullptr) {
        bough::detail::throw_if(bough::read_key_file(where.key_file, place.key));
    } else {
        const std::span<const std::byte> given(static_cast<const std::byte*>(where.key), where.key_bytes);
        if (given.size() != place.key.bytes().size())
            throw std::runtime_error("key: must have 32 bytes, and has " + std::to_string(given.size()));
        std::copy(given.begin(), given.end(), place.key.bytes().begin());
    }
    return place;
}

// What the members of a group tell those who join it.
struct custom {
    std::uint64_t is_member = 0, job = 0, timeout_ns = 0, has_same_bits = 0, is_wide = 0, changes = 0;
};
// Tells or learns it, and joins.
template <class W>
std::optional<transport> meet(W& wire, custom& its, const std::string& address, std::uint64_t timeout_ns,
                              bough::status& s) {
    std::vector<custom> all(wire.size());
    s = wire.exchange(std::as_bytes(std::span(&its, 1)), std::as_writable_bytes(std::span(all)), timeout_ns);
    if (s) return std::nullopt;
    for (const custom& told : all)
        if (its.is_member == 0 && told.is_member != 0)
            its = {0, told.job, told.timeout_ns, told.has_same_bits, told.is_wide, told.changes};
    bough::composite_options joining = joining_within(timeout_ns);
    joining.between.bind = address;
    return bough::join_composite(wire, joining, s);
}

// A wire-up over a key-value store. What the store itself has against it is thrown, as a sentence.
class store_wire_up {
public:
    store_wire_up(const store& where, bough::rank_t rank, bough::rank_t size, const options& chosen)
        : store_(where), rank_(rank), size_(size) {
        address_ = address_of(chosen, *chosen.meets_at != '\0' ? std::vector<std::string>{chosen.meets_at}
                                                               : std::vector<std::string>{});
    }
    const std::string& address() const noexcept { return address_; }
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }

    // Each rank takes its place, and hears from rank 0 first, so that a rank with another number of ranks
    // waits for nobody.
    void take_places(const options& chosen) {
        const std::uint64_t timeout_ns = chosen.timeout_ns;
        std::int64_t came = 0;
        if (store_.add(store_.context, ("bough/rank " + std::to_string(rank_)).c_str(), 1, came) != 0) lost();
        if (came != 1)
            throw std::runtime_error("rank: another process has rank " + std::to_string(rank_) +
                                     " already, or another group has used this store");
        struct card {
            bough::rank_t size, chosen[3];
        };
        const card mine{size_, {chosen.same_bits, chosen.accumulate_in_float, *chosen.reports != '\0'}};
        std::vector<card> cards(size_);
        const bough::status s =
            exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(cards)), timeout_ns,
                     [&](bough::rank_t r, std::span<const std::byte> said) {
                         card theirs{};
                         std::copy(said.begin(), said.end(), std::as_writable_bytes(std::span(&theirs, 1)).begin());
                         const std::string here = " on rank " + std::to_string(rank_),
                                           there = " on rank " + std::to_string(r);
                         if (theirs.size != size_)
                             throw std::runtime_error("world_size: it is " + std::to_string(size_) + here + ", and " +
                                                      std::to_string(theirs.size) + there);
                         constexpr const char* names[] = {"BOUGH_TORCH_SAME_BITS", "BOUGH_TORCH_ACCUMULATE",
                                                          "BOUGH_TORCH_REPORTS"};
                         for (std::size_t i = 0; i != std::size(names); ++i)
                             if (theirs.chosen[i] != mine.chosen[i])
                                 throw std::runtime_error(std::string(names[i]) + ": it is set" +
                                                          (mine.chosen[i] != 0 ? here : there) + ", and not" +
                                                          (mine.chosen[i] != 0 ? there : here));
                     });
        if (s)
            throw std::runtime_error("rank " + std::to_string(s.peer) + " has not come within " +
                                     std::to_string(timeout_ns / 1'000'000) + " ms");
    }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        return exchange(mine, all, timeout_ns, [](bough::rank_t, std::span<const std::byte>) {});
    }

private:
    // Calls heard(rank, bytes) for each rank when it has said what it says.
    template <class F>
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns,
                           F&& heard) {
        if (const bough::status bad = bough::check_exchange(mine, all, size_)) return bad;
        const std::uint64_t last = bough::deadline_after(bough::detail::steady_now_ns(), timeout_ns);
        const std::string turn = "bough/" + std::to_string(turn_++) + "/";
        // A byte in front: a store may not take values of no bytes.
        std::vector<std::byte> said(mine.size() + 1);
        std::copy(mine.begin(), mine.end(), said.begin() + 1);
        if (store_.set(store_.context, (turn + std::to_string(rank_)).c_str(), said.data(), said.size()) != 0) lost();
        for (bough::rank_t r = 0; r != size_; ++r) {
            const std::uint64_t now = bough::detail::steady_now_ns();
            const int bad = store_.get(store_.context, (turn + std::to_string(r)).c_str(), said.data(), said.size(),
                                       last > now ? last - now : 1);
            if (bad == 2) lost();
            if (bad != 0) return {.code = bad == 1 ? bough::errc::deadline : bough::errc::protocol_error, .peer = r};
            std::copy(said.begin() + 1, said.end(), all.begin() + static_cast<std::ptrdiff_t>(r * mine.size()));
            heard(r, std::span(said).subspan(1));
        }
        return {};
    }
    [[noreturn]] void lost() const {
        throw std::runtime_error(std::string("the store is gone, or does not answer: ") + store_.why(store_.context));
    }

    store store_;
    bough::rank_t rank_, size_;
    std::string address_;
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
// What ranks compare of a type: the dtype and, of a message, its tag. A mismatch says both again.
constexpr std::uint64_t mark = 0x746f72;
constexpr std::uint64_t named(dtype t, int tag) noexcept {
    return mark << 40 | std::uint64_t{static_cast<std::uint32_t>(tag)} << 8 | static_cast<std::uint8_t>(t);
}
constexpr bool is_named(std::uint64_t value) noexcept { return value >> 40 == mark; }
bough::run_time_type type_of(dtype t, int tag = 0) noexcept {
    return {.size = size_of(t),
            .identity = named(t, tag) ^ bough::detail::size_hash(size_of(t)),
            .alignment = std::min<std::size_t>(size_of(t), 8)};
}
std::string dtype_in(std::uint64_t named) {
    constexpr const char* names[] = {"uint8",   "int8",    "int16",    "int32", "int64",     "float32",
                                     "float64", "float16", "bfloat16", "bool",  "complex64", "complex128"};
    return (named & 255) < std::size(names) ? names[named & 255] : "unknown";
}
int tag_in(std::uint64_t named) noexcept { return static_cast<int>(static_cast<std::uint32_t>(named >> 8)); }

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

// A status has the transport's numbers of ranks, which are those of the first group. This has those of
// `comm`, so that survivors read the ranks that they have now.
bough::status with_ranks_of(const communicator& comm, bough::status s) {
    std::vector<bough::rank_t> missing;
    bough::rank_t peer = bough::no_rank;
    for (bough::rank_t r = 0; r != comm.size(); ++r) {
        if (comm.world_rank(r) == s.peer) peer = r;
        if (bough::is_missing(s, comm.world_rank(r))) missing.push_back(r);
    }
    if (peer == bough::no_rank) return s;
    if (bough::names_missing(s)) {
        s.mine = 0;
        for (const bough::rank_t r : missing)
            if (r / 64 == peer / 64) s.mine |= std::uint64_t{1} << r % 64;
    }
    s.peer = peer;
    return s;
}
// Bough knows no tags, and knows a dtype as a number. This says "the dtype differs (int32 here, float32
// there)". Early messages do not tell both values.
std::string with_dtypes_of(std::string text, const bough::status& s, kind of) {
    static const std::string known = "the element type differs";
    const std::size_t at = text.find(known);
    if (s.mismatch != bough::mismatch::type || at == std::string::npos) return text;
    const bool has_tags = of == kind::send || of == kind::receive;
    if (s.mine == s.theirs || !is_named(s.mine) || !is_named(s.theirs))
        return text.replace(at, known.size(), has_tags ? "the dtype or the tag differs" : "the dtype differs");
    const auto differs = [](const char* what, const std::string& mine, const std::string& theirs) {
        return std::string(what) + " differs (" + mine + " here, " + theirs + " there)";
    };
    return text.replace(at, text.find(')', at) + 1 - at,
                        dtype_in(s.mine) != dtype_in(s.theirs)
                            ? differs("the dtype", dtype_in(s.mine), dtype_in(s.theirs))
                            : differs("the tag", std::to_string(tag_in(s.mine)), std::to_string(tag_in(s.theirs))));
}
// The communicator in which messages go from one rank to another (group::pair_of).
std::uint64_t context_of_pair(const communicator& comm, bough::rank_t from, bough::rank_t to) {
    return comm.context() + 1 + std::uint64_t{from} * comm.size() + to;
}
// "broadcast #2 of communicator 3" is "message #2 from rank 1 to rank 0".
std::string with_messages_of(const communicator& comm, std::string text) {
    static const std::string call = "broadcast #", where = " of communicator ";
    for (std::size_t at = 0; (at = text.find(call, at)) != std::string::npos; at += call.size()) {
        const std::size_t number = at + call.size(), behind = text.find_first_not_of("0123456789", number);
        if (behind == std::string::npos || text.compare(behind, where.size(), where) != 0) continue;
        const std::size_t first = behind + where.size();
        const std::size_t last = std::min(text.find_first_not_of("0123456789", first), text.size());
        const std::uint64_t context = std::stoull(text.substr(first, last - first)),
                            pairs = context_of_pair(comm, 0, 0);
        if (context < pairs || context >= context_of_pair(comm, comm.size(), 0)) continue;
        const std::string said = "message #" + text.substr(number, behind - number) + " from rank " +
                                 std::to_string((context - pairs) / comm.size()) + " to rank " +
                                 std::to_string((context - pairs) % comm.size());
        text.replace(at, last - at, said);
    }
    return text;
}
// With which a rank that shrinks its group refuses further calls: no other status is told with this code.
constexpr bough::errc shrinks = bough::errc::group_poisoned;
std::string sentence_of(const communicator& comm, const bough::status& why, kind of) {
    const bough::status s = with_ranks_of(comm, why);
    if (s.cause == shrinks && s.peer != bough::no_rank)
        return "rank " + std::to_string(s.peer) + " shrinks the group: all of its ranks are to do so";
    if (s.peer == bough::no_rank || (s.code != bough::errc::peer_dead && s.cause != bough::errc::peer_dead))
        return with_messages_of(comm, with_dtypes_of(bough::message_of(s), s, of));
    return "rank " + std::to_string(s.peer) + " is gone: it has ended, was killed, or cannot be reached";
}

struct job {
    struct part {
        bough::operation operation;
        bough_torch::kind kind;
    };
    std::vector<part> parts;
    done* told = nullptr;
    heard* is_heard = nullptr;
    void* context = nullptr;
    std::string error{};

    // With the lock, as all that touches operations: also a handle that ends gives memory back to the
    // communicator.
    template <class F>
    bool is_over(F&& sentence_of) {
        for (part& p : parts)
            if (!p.operation.done()) return false;
        for (part& p : parts)
            if (error.empty() && p.operation.result())
                error = std::string(name_of(p.kind)) + ": " + sentence_of(p.operation.result(), p.kind);
        parts.clear();
        return true;
    }
    // Without a lock: whoever is told may start the next one, and wait for it.
    void tell() {
        ++depth;
        told(context, error.empty() ? nullptr : error.c_str());
        --depth;
    }
    static thread_local int depth; // so many jobs are being told in this thread, each within the one before
};
thread_local int job::depth = 0;

} // namespace

struct group {
public:
    group(communicator comm, const options& chosen, std::string address)
        : timeout_ns_(chosen.timeout_ns), has_same_bits_(chosen.same_bits), is_wide_(chosen.accumulate_in_float),
          rank_(comm.rank()), size_(comm.size()), changes_(comm.epoch() - 1), address_(std::move(address)),
          comm_(std::move(comm)) {
        const std::lock_guard lock(mutex_);
        add_helper();
    }
    group(const group&) = delete;
    ~group() {
        stop_helper();
        give_up("destroyed");
    }

    // What is in flight ends, and nothing is started any more.
    void give_up(const char* why) {
        std::unique_lock lock(mutex_);
        if (over_ == nullptr) over_ = why;
        for (auto& j : in_flight_)
            for (job::part& p : j->parts) {
                p.operation.cancel();
                bough::status ignored;
                p.operation.wait(ignored);
            }
        collect();
        while (std::unique_ptr<job> ended = next_ended()) tell(std::move(ended), lock);
    }
    // Nothing of the old communicator is left: its session has one user, the new group.
    std::unique_ptr<group> shrink(std::uint64_t timeout_ns, bool majority) {
        check_is_parent();
        give_up("shrunk");
        const std::lock_guard lock(mutex_);
        if (!comm_) throw std::runtime_error("this group has been " + std::string(over_) + " already");
        check_is_in();
        refuse_further_calls();
        pairs_.clear();
        if (timeout_ns != 0) comm_->set_timeout_ns(timeout_ns);
        comm_->core()->options.agreement =
            majority ? bough::agreement_rule::majority : bough::agreement_rule::survivors;
        bough::status s;
        std::optional<communicator> survivors = bough::shrink(*comm_, s);
        note_agreement(s);
        communicator made = std::move(*survivors);
        comm_.reset();
        return successor(std::move(made));
    }
    std::unique_ptr<group> grow(const bough::meeting_place& place, bough::rank_t size, std::uint64_t timeout_ns) {
        check_is_parent();
        if (timeout_ns == 0) timeout_ns = timeout_ns_;
        const std::uint64_t last = bough::deadline_after(bough::detail::steady_now_ns(), timeout_ns);
        std::unique_lock lock(mutex_);
        for (;;) {
            collect();
            while (std::unique_ptr<job> ended = next_ended()) tell(std::move(ended), lock);
            if (in_flight_.empty()) break;
            lock.unlock();
            if (bough::detail::steady_now_ns() >= last)
                throw std::runtime_error("operations are in flight that do not end");
            std::this_thread::sleep_for(std::chrono::microseconds(200)); // the helper moves them
            lock.lock();
        }
        if (!comm_) throw std::runtime_error("this group has been " + std::string(over_) + " already");
        check_is_in();
        const std::uint64_t usual = comm_->options().timeout_ns;
        comm_->set_timeout_ns(timeout_ns);
        custom mine{1, comm_->options().report.job, timeout_ns_, has_same_bits_, is_wide_, changes_};
        bough::status s;
        std::optional<communicator> grown = bough::grow(
            *comm_, place, size,
            [&](auto& wire, bough::status& how) { return meet(wire, mine, address_, timeout_ns, how); }, s);
        comm_->set_timeout_ns(usual);
        note_agreement(s);
        over_ = "grown";
        pairs_.clear();
        comm_.reset();
        return successor(std::move(*grown));
    }
    // Who waits for this rank, which may have failed alone, in a call that it does not make any more: that call
    // ends, and the rank comes to shrink, too. If a rank is lost, they know.
    void refuse_further_calls() {
        const bough::status known = comm_->poison();
        if (known.code == bough::errc::peer_dead || known.cause == bough::errc::peer_dead) return;
        (void)comm_->refuse({.code = shrinks});
        for (bough::rank_t r = 0; has_pairs() && r != size_; ++r) {
            if (r == rank_) continue;
            (void)pair_of(rank_, r).refuse({.code = shrinks});
            (void)pair_of(r, rank_).refuse({.code = shrinks});
        }
    }
    // The group that goes on in the place of this one.
    std::unique_ptr<group> successor(communicator made) const {
        made.set_timeout_ns(timeout_ns_);
        return std::make_unique<group>(
            std::move(made),
            options{.timeout_ns = timeout_ns_, .same_bits = has_same_bits_, .accumulate_in_float = is_wide_}, address_);
    }
    // The others have agreed without this rank. If it began again, it would go on alone, as they do.
    void check_is_in() const {
        if (is_out_) throw std::runtime_error("this rank was left out: the others have agreed without it and go on");
    }
    // Throws if the agreement has failed.
    void note_agreement(const bough::status& s) {
        if (!s) return;
        is_out_ = s.code == bough::errc::peer_aborted && s.peer == comm_->world_rank(comm_->rank());
        throw std::runtime_error(sentence_of(*comm_, s, kind::barrier));
    }
    agreement agree(bool mine, std::uint64_t timeout_ns) {
        check_is_parent();
        const std::lock_guard lock(mutex_);
        if (!comm_) throw std::runtime_error("this group has been " + std::string(over_));
        check_is_in();
        const std::uint64_t usual = comm_->options().timeout_ns;
        if (timeout_ns != 0) comm_->set_timeout_ns(timeout_ns);
        bough::detail::agreed_group reached; // bough::agree() does not say who is gone
        const bough::status s = bough::detail::reach_agreement(*comm_, bough::detail::members_of(*comm_),
                                                               comm_->context(), mine ? 1 : 0, reached);
        comm_->set_timeout_ns(usual);
        note_agreement(s);
        const bool is_one_gone =
            std::any_of(reached.failed.begin(), reached.failed.end(), [](unsigned char how) { return how != 0; });
        return {.all_said_yes = reached.word == 1, .nobody_is_gone = !is_one_gone};
    }
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }
    const std::string& address() const noexcept { return address_; }
    unsigned changes() const noexcept { return changes_; }
    std::string report() {
        if (is_in_child()) return std::string(bough::describe(bough::errc::forked_child)) + "\n";
        const std::lock_guard lock(mutex_);
        return comm_ ? bough::text_of(comm_->report()) : "this group has been " + std::string(over_) + "\n";
    }

    void stop_helper() {
        if (is_in_child()) return;
        for (std::unique_lock lock(mutex_);; lock.lock()) {
            stopping_ = true;
            changed_.notify_all();
            relief_.notify_all();
            std::list<std::thread> helpers = std::move(helpers_);
            lock.unlock();
            if (helpers.empty()) return;
            for (std::thread& h : helpers) h.join();
        }
    }
    // The last who knows the group may be a job of its own, which a helper tells that it is over: no thread
    // can wait for itself, so then that helper destroys the group when it is back.
    void end() {
        if (is_in_child()) return; // all of it is the parent's: threads that are not here, and what they hold
        if (helps == this)
            is_orphan = true;
        else
            delete this;
    }
    void start(const call* calls, std::size_t count, done* told, heard* is_heard, void* context) {
        auto made = std::make_unique<job>();
        made->told = told;
        made->is_heard = is_heard;
        made->context = context;
        const std::string name = count == 0 ? "call of nothing" : name_of(calls[0].kind);
        if (is_in_child()) {
            made->error = name + ": " + bough::describe(bough::errc::forked_child);
            return made->tell();
        }
        std::condition_variable* called = nullptr;
        {
            ++starters_;
            const std::lock_guard lock(mutex_);
            --starters_;
            try {
                if (over_ != nullptr)
                    throw std::runtime_error(name + ": this group has been " + over_ + ": use the new one");
                if (in_flight_.size() == in_flight_.capacity()) in_flight_.reserve(2 * in_flight_.size() + 8);
                made->parts.reserve(count);
                for (std::size_t i = 0; i != count; ++i) made->parts.push_back({started(calls[i]), calls[i].kind});
            } catch (const std::exception& e) {
                made->error = e.what();
            }
            ++starts_;
            if (!has_ended(*made)) {
                in_flight_.push_back(std::move(made));
                ++pending_;
            }
            if (pending_ != 0) called = call_helper();
        }
        if (made) made->tell();
        if (called != nullptr) called->notify_one();
    }
    bool wait(bool (*is_over)(void*), void* context, std::uint64_t timeout_ns) {
        if (is_in_child()) return is_over(context);
        const std::uint64_t last = bough::deadline_after(bough::detail::steady_now_ns(), timeout_ns);
        // A callback that waits tells its own job only: another job's callback could wait for the one within
        // which it would run. So such a caller does not take the place of the helper.
        const bool is_nested = job::depth != 0;
        if (!is_nested) ++waiters_;
        while (!is_over(context) && bough::detail::steady_now_ns() < last) {
            if (starters_ != 0) std::this_thread::yield();
            std::unique_lock lock(mutex_);
            look_at_deadlines();
            collect();
            bool is_idle = false;
            std::unique_ptr<job> ended = is_nested ? ended_of(context) : next_ended(context);
            if (!ended && !is_over(context)) {
                is_idle = !wait_a_little() || is_nested; // another thread tells it now, or is to move the others
                collect();
                ended = is_nested ? ended_of(context) : next_ended(context);
            }
            if (ended && !is_nested) --waiters_;
            std::condition_variable* called = nullptr;
            if (needs_helper() && (is_nested || (ended && (!is_helped_ || ended->is_heard(ended->context)))))
                called = call_helper();
            lock.unlock();
            if (called != nullptr) called->notify_one();
            if (ended) {
                ended->tell();
                ended.reset();
                if (!is_nested) ++waiters_;
            } else if (is_idle) {
                std::this_thread::sleep_for(std::chrono::microseconds(20));
            }
        }
        if (is_nested) return is_over(context);
        std::condition_variable* called = nullptr;
        {
            const std::lock_guard lock(mutex_);
            --waiters_;
            if (needs_helper()) called = call_helper();
        }
        if (called != nullptr) called->notify_one();
        return is_over(context);
    }

private:
    // Of a fork, which has none of the threads. One of them may have had the lock, so it is not taken there.
    bool is_in_child() const noexcept { return forks_ != bough::detail::forks(); }
    void check_is_parent() const {
        if (is_in_child()) throw std::runtime_error(bough::describe(bough::errc::forked_child));
    }
    bool has_ended(job& j) {
        return j.is_over([this](const bough::status& s, kind k) { return sentence_of(*comm_, s, k); });
    }
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
        if (comm_) comm_->shared_session()->check_deadlines();
    }
    void collect() {
        for (auto& j : in_flight_)
            if (has_ended(*j)) ended_.push_back(std::move(j));
        std::erase_if(in_flight_, [](const auto& j) { return !j; });
    }
    // A job that is over and that nobody has been told of; null: there is none. Whoever takes it tells it: one
    // after the other, so that other threads can take the rest meanwhile.
    std::unique_ptr<job> taken(std::deque<std::unique_ptr<job>>::iterator which) {
        if (which == ended_.end()) return nullptr;
        std::unique_ptr<job> j = std::move(*which);
        ended_.erase(which);
        --pending_;
        return j;
    }
    std::unique_ptr<job> ended_of(void* context) {
        return taken(std::find_if(ended_.begin(), ended_.end(), [=](const auto& j) { return j->context == context; }));
    }
    std::unique_ptr<job> next_ended() { return taken(ended_.begin()); }
    std::unique_ptr<job> next_ended(void* first) {
        std::unique_ptr<job> j = ended_of(first);
        return j ? std::move(j) : next_ended();
    }
    static void tell(std::unique_ptr<job> ended, std::unique_lock<std::mutex>& lock) {
        lock.unlock();
        ended->tell();
        ended.reset();
        lock.lock();
    }
    bool needs_helper() const noexcept { return pending_ != 0 && waiters_ == 0; }
    // For 2 ms after the last start the helper looks by itself, without the lock, whether it is needed. A caller
    // that waits for what it has started is not held up by waking a thread that has nothing to do then. Who does
    // not wait gets the helper 256 us later at most while others start calls, and 1 ms later after that.
    void watch(std::unique_lock<std::mutex>& lock) {
        using std::chrono::microseconds;
        constexpr microseconds enough(2'000);
        is_watching_ = true;
        lock.unlock();
        microseconds nap(64), quiet(0);
        std::uint64_t seen = starts_;
        while (!stopping_ && !needs_helper() && quiet < enough) {
            std::this_thread::sleep_for(nap);
            quiet = seen == starts_ ? quiet + nap : microseconds(0);
            seen = starts_;
            nap = std::min(2 * nap, microseconds(quiet == microseconds(0) ? 256 : 1'024));
        }
        lock.lock();
        is_watching_ = false;
        if (quiet >= enough || stopping_) watched_ = seen;
    }
    // Call it with the lock, and notify what it returns without the lock. Null: nobody is to be woken.
    std::condition_variable* call_helper() {
        if (is_helped_) return is_watching_ ? nullptr : &changed_;
        if (idle_ != 0) return &relief_;
        if (!has_stopped()) add_helper();
        return nullptr;
    }
    void add_helper() {
        try {
            helpers_.emplace_back([this] { help(); });
            ++idle_;
        } catch (const std::system_error&) { // no more threads: one that tells now is back later
            if (helpers_.empty() && !stopping_) throw;
        }
    }
    // A callback that a helper runs may wait for other jobs: so they are moved on until it is back.
    bool has_stopped() const noexcept { return stopping_ && telling_ == 0; }
    // One of the helpers' threads moves things on, and lets another one do so while it tells a job.
    void help() {
        helps = this;
        std::unique_lock lock(mutex_);
        for (;;) {
            relief_.wait(lock, [this] { return !is_helped_ || has_stopped(); });
            --idle_;
            if (has_stopped()) return;
            is_helped_ = true;
            std::unique_ptr<job> ended = move_on(lock);
            is_helped_ = false;
            if (!ended) return;
            ++telling_;
            told_last_ = clock_type::now();
            std::condition_variable* const called = needs_helper() ? call_helper() : nullptr;
            if (called != nullptr) called->notify_one();
            tell(std::move(ended), lock);
            --telling_;
            ++idle_;
            if (stopping_) {
                changed_.notify_all();
                relief_.notify_all();
            }
            if (is_orphan) break;
        }
        const auto mine = std::find_if(helpers_.begin(), helpers_.end(),
                                       [](std::thread& h) { return h.get_id() == std::this_thread::get_id(); });
        mine->detach();
        helpers_.erase(mine);
        lock.unlock();
        delete this;
    }
    // Until a job is over that this thread is to tell; null: the helpers are to stop.
    std::unique_ptr<job> move_on(std::unique_lock<std::mutex>& lock) {
        for (std::uint32_t idle = 0;;) {
            if (starts_ != watched_ && !needs_helper()) watch(lock);
            // With nothing in flight it still answers ranks that ask for a call that this one has not
            // made, and takes in what others send ahead: in one step it would hear only one of them.
            const auto is_called = [&] { return has_stopped() || needs_helper() || starts_ != watched_; };
            if (!changed_.wait_for(lock, std::chrono::milliseconds(50), is_called)) {
                for (int i = 0; i != 64 && comm_ && waiters_ == 0 && starters_ == 0 && comm_->progress(); ++i) {
                }
                continue;
            }
            if (has_stopped()) return nullptr;
            if (!needs_helper()) continue;
            const bool moved = comm_ && comm_->progress();
            look_at_deadlines();
            collect();
            if (may_tell()) return next_ended();
            idle = moved ? 0 : idle + 1;
            lock.unlock();
            if (idle < 50)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(std::min<std::uint32_t>(idle - 49, 100)));
            lock.lock();
        }
    }
    // Callbacks that run may wait for the next one, so one more may always run; but each has to wait twice as
    // long as the one before. So many slow callbacks do not get a thread each.
    bool may_tell() const noexcept {
        return !ended_.empty() && (telling_ == 0 || clock_type::now() - told_last_ >=
                                                        std::chrono::microseconds(50) * (1 << std::min(telling_, 20)));
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
                is_narrow && (c.op == reduction::average || (c.op == reduction::sum && is_wide_)))
                return c.type == dtype::f16 ? rounded_once<bough::fp16>(c) : rounded_once<bough::bf16>(c);
            op = op_of(c.type, c.op);
            if (!op) throw std::runtime_error(std::string(name_of(c.kind)) + ": this dtype does not take this op");
            // The adapter divides, and a rank that wants the sum must not get on with one that wants the average.
            if (c.op == reduction::average) op.id = bough::op_with_values(op.id, size_);
        }
        switch (c.kind) {
        case kind::allreduce: return bough::start_allreduce(*comm_, out, op, choice());
        case kind::reduce: return bough::start_reduce(*comm_, out, op, at, choice());
        case kind::broadcast: return bough::start_broadcast(*comm_, out, at);
        case kind::allgather:
            return bough::start_allgather(*comm_, const_elements{c.in, c.count, type, {}},
                                          elements{c.out, all, type, {}});
        case kind::reduce_scatter:
            return bough::start_reduce_scatter(*comm_, const_elements{c.in, all, type, {}}, out, op, choice());
        case kind::gather:
            return bough::start_gather(*comm_, const_elements{c.in, c.count, type, {}},
                                       elements{c.out, rank_ == at.rank ? all : 0, type, {}}, at);
        case kind::scatter:
            return bough::start_scatter(*comm_, const_elements{c.in, rank_ == at.rank ? all : 0, type, {}}, out, at);
        case kind::alltoall:
            return bough::start_alltoall(*comm_, const_elements{c.in, all, type, {}}, elements{c.out, all, type, {}});
        case kind::alltoallv: {
            const std::span<const std::size_t> sends(c.sends, size_), receives(c.receives, size_);
            const auto sum = [](std::span<const std::size_t> x) {
                std::size_t total = 0;
                for (const std::size_t n : x) total += n;
                return total;
            };
            return bough::start_alltoallv(*comm_, const_elements{c.in, sum(sends), type, {}}, sends,
                                          elements{c.out, sum(receives), type, {}}, receives);
        }
        case kind::barrier: return bough::start_barrier(*comm_);
        case kind::send:
        case kind::receive: {
            const bool sends = c.kind == kind::send;
            if (c.root < 0 || at.rank >= size_ || at.rank == rank_)
                throw std::runtime_error(std::string(name_of(c.kind)) + ": must name another rank of the group");
            communicator& pair = sends ? pair_of(rank_, at.rank) : pair_of(at.rank, rank_);
            return bough::start_broadcast(pair, elements{c.out, c.count, type_of(c.type, c.tag), {}}, root{0});
        }
        }
        return bough::start_barrier(*comm_);
    }
    template <class T>
    bough::operation rounded_once(const call& c) {
        const std::span<T> data(static_cast<T*>(c.out), c.count);
        const std::span<const T> in(static_cast<const T*>(c.in), c.in == nullptr ? 0 : c.count * size_);
        const bough::rounded_once<> op{.after = c.op == reduction::average ? 1.0f / static_cast<float>(size_) : 1.0f};
        if (c.kind == kind::allreduce) return bough::start_allreduce(*comm_, data, op, choice());
        if (c.kind == kind::reduce_scatter) return bough::start_reduce_scatter(*comm_, in, data, op, choice());
        return bough::start_reduce(*comm_, data, op, bough::root{static_cast<bough::rank_t>(c.root)}, choice());
    }
    bough::automatic choice() const {
        if (!has_same_bits_) return {};
        return {.required = bough::same_bits_for_any_partition};
    }
    bool has_pairs() const { return context_of_pair(*comm_, size_, 0) <= 65000; }
    // The two ranks between which messages go this way: the first sends. Both know its number, so making
    // it needs no message.
    communicator& pair_of(bough::rank_t from, bough::rank_t to) {
        const auto known = pairs_.find({from, to});
        if (known != pairs_.end()) return known->second;
        const std::uint64_t number = context_of_pair(*comm_, from, to);
        if (!has_pairs()) throw std::runtime_error("send, recv: only in groups of up to 254 ranks");
        const auto context = static_cast<std::uint16_t>(number);
        const auto& shared = comm_->shared_session();
        shared->with_lock([&] { return shared->contexts().claim(context); });
        const std::vector<bough::rank_t> both{comm_->world_rank(from), comm_->world_rank(to)};
        return pairs_.emplace(std::pair(from, to), communicator(shared, both, context, comm_->options_among(both)))
            .first->second;
    }

    const std::uint64_t timeout_ns_;
    const bool has_same_bits_, is_wide_;
    const bough::rank_t rank_, size_;
    const unsigned changes_;
    const std::uint32_t forks_ = bough::detail::forks();
    const std::string address_;
    std::mutex mutex_;                // of comm_, pairs_ and all operations
    std::condition_variable changed_; // wakes the helper
    std::condition_variable relief_;  // wakes a thread that becomes the helper
    std::atomic<int> waiters_{0}, starters_{0};
    std::atomic<std::size_t> pending_{0};  // jobs in flight, or over and still to be told
    std::atomic<std::uint64_t> starts_{0}; // of jobs, ever
    std::atomic<bool> stopping_{false};
    std::uint64_t watched_ = 0; // so many when the helper stopped watching
    bool is_watching_ = false;
    bool is_helped_ = false;                // a thread is the helper
    int idle_ = 0, telling_ = 0;            // threads that may become it, and those of its threads that tell
    clock_type::time_point told_last_{};    // when such a one has begun
    static thread_local const group* helps; // of which this thread is a helper
    static thread_local bool is_orphan;     // it is to destroy that
    bool is_out_ = false;                   // the others go on without this rank
    const char* over_ = nullptr;            // why it takes no further call
    std::optional<communicator> comm_;      // none: its ranks have another group
    std::map<std::pair<bough::rank_t, bough::rank_t>, communicator> pairs_;
    std::vector<std::unique_ptr<job>> in_flight_;
    std::deque<std::unique_ptr<job>> ended_; // of which nobody has been told
    clock_type::time_point next_look_{};
    std::list<std::thread> helpers_;
};
thread_local const group* group::helps = nullptr;
thread_local bool group::is_orphan = false;

namespace {

group* failed(const char* why, char* error, std::size_t bytes) {
    std::snprintf(error, bytes, "%s", why);
    return nullptr;
}
// A number that all ranks share, so that recordings of two jobs are not mixed.
std::uint64_t number_of_job(store_wire_up& wire, std::uint64_t timeout_ns) {
    std::random_device chance;
    const std::uint64_t mine = std::uint64_t{chance()} << 32 | chance();
    std::vector<std::uint64_t> all(wire.size());
    bough::detail::throw_if(
        wire.exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), timeout_ns));
    return all[0];
}

// `joined`: who joins a group may have the rank of one that was lost, whose recording stays.
auto recording_of(const options& chosen, bough::rank_t rank, const std::string& joined = "") {
    return bough::recording_file(std::string(chosen.reports) + "/group" + chosen.name + ".rank" + std::to_string(rank) +
                                 joined + ".bough");
}

} // namespace

group* make(int rank, int size, const store& where, const options& chosen, char* error, std::size_t bytes) {
    if (size < 1 || rank < 0 || rank >= size)
        return failed(
            ("rank: it is " + std::to_string(rank) + ", and must be below world_size, which is " + std::to_string(size))
                .c_str(),
            error, bytes);
    try {
        store_wire_up wire(where, static_cast<bough::rank_t>(rank), static_cast<bough::rank_t>(size), chosen);
        wire.take_places(chosen);
        bough::communicator_options how{.timeout_ns = chosen.timeout_ns};
        if (*chosen.reports != '\0') {
            how.report.job = number_of_job(wire, chosen.timeout_ns);
            how.report.file = recording_of(chosen, wire.rank());
        }
        bough::status s;
        std::optional<transport> link = bough::join_composite(wire, joining_within(chosen.timeout_ns), s);
        if (s.code == bough::errc::deadline || s.cause == bough::errc::deadline)
            return failed((bough::message_of(s) + ": the ranks have met at the store, but not all of them reach each " +
                           "other; this one listens at " + wire.address() +
                           ": BOUGH_SOCKET_IFNAME names another interface")
                              .c_str(),
                          error, bytes);
        if (s) return failed(bough::message_of(s).c_str(), error, bytes);
        return new group(communicator(std::move(*link), how), chosen, wire.address());
    } catch (const std::exception& e) {
        return failed(e.what(), error, bytes);
    }
}
group* shrink(group* g, std::uint64_t timeout_ns, bool majority, int& rank, int& size, char* error, std::size_t bytes) {
    try {
        std::unique_ptr<group> made = g->shrink(timeout_ns, majority);
        rank = static_cast<int>(made->rank());
        size = static_cast<int>(made->size());
        return made.release();
    } catch (const std::exception& e) {
        return failed(e.what(), error, bytes);
    }
}
group* grow(group* g, const meeting& where, int size, std::uint64_t timeout_ns, int& rank, char* error,
            std::size_t bytes) {
    if (size < static_cast<int>(g->size()))
        return failed(("size: it is " + std::to_string(size) + ", and the group has " + std::to_string(g->size()) +
                       " ranks already")
                          .c_str(),
                      error, bytes);
    try {
        std::unique_ptr<group> made = g->grow(place_of(where), static_cast<bough::rank_t>(size), timeout_ns);
        rank = static_cast<int>(made->rank());
        return made.release();
    } catch (const std::exception& e) {
        return failed(e.what(), error, bytes);
    }
}
group* join(const meeting& where, const options& chosen, std::uint64_t timeout_ns, int& rank, int& size, char* error,
            std::size_t bytes) {
    try {
        const bough::meeting_place place = place_of(where);
        std::vector<std::string> hosts;
        for (const bough::tcp_host& h : place.hosts) hosts.push_back(h.address);
        const std::string address = address_of(chosen, hosts);
        custom its;
        bough::communicator_options how{.timeout_ns = timeout_ns};
        bough::status s;
        // How the group records is known when it has been met, and then its communicator is still to be made.
        std::optional<communicator> made = bough::join_group<transport>(
            place, how,
            [&](auto& wire, bough::status& result) {
                std::optional<transport> link = meet(wire, its, address, timeout_ns, result);
                how.report.job = its.job;
                if (link && *chosen.reports != '\0')
                    how.report.file = recording_of(chosen, wire.rank(), ".joined" + std::to_string(its.changes + 1));
                return link;
            },
            s);
        if (s) return failed(bough::message_of(s).c_str(), error, bytes);
        made->set_timeout_ns(its.timeout_ns);
        rank = static_cast<int>(made->rank());
        size = static_cast<int>(made->size());
        const options taken{
            .timeout_ns = its.timeout_ns, .same_bits = its.has_same_bits != 0, .accumulate_in_float = its.is_wide != 0};
        return new group(std::move(*made), taken, address);
    } catch (const std::exception& e) {
        return failed(e.what(), error, bytes);
    }
}
unsigned changes(const group* g) { return g->changes(); }
bool agree(group* g, bool mine, std::uint64_t timeout_ns, agreement& reached, char* error, std::size_t bytes) {
    try {
        return reached = g->agree(mine, timeout_ns), true;
    } catch (const std::exception& e) {
        return failed(e.what(), error, bytes) != nullptr;
    }
}
const char* address(const group* g) { return g->address().c_str(); }
void report(group* g, void (*take)(void* context, const char* text), void* context) {
    take(context, g->report().c_str());
}
void diagnose(const char* const* files, std::size_t count, void (*take)(void* context, const char* text),
              void* context) {
    bough::merged_reports all;
    std::string faults;
    for (std::size_t i = 0; i != count; ++i) {
        std::ifstream in(files[i], std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        std::string fault;
        if (!all.add(std::as_bytes(std::span(bytes)), files[i], fault)) faults += fault + "\n";
    }
    take(context, ((all.empty() ? std::string() : all.text()) + faults).c_str());
}
void free(group* g) { g->end(); }
void stop_helper(group* g) { g->stop_helper(); }
void start(group* g, const call* calls, std::size_t count, done* told, heard* is_heard, void* context) {
    g->start(calls, count, told, is_heard, context);
}
bool wait(group* g, bool (*over)(void*), void* context, std::uint64_t timeout_ns) {
    return g->wait(over, context, timeout_ns);
}

} // namespace bough_torch
