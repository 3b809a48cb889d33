// SPDX-License-Identifier: BSL-1.0
// low_latency: allreduce and barrier of a few bytes. Each message is one remote write whose flag
// lies in the same line as its data. No message is matched and no buffer is given back, so this is
// the shortest way that memory allows.
//
//   bough::shared_memory_regions mine{wire,
//                                     {.region_bytes = bough::low_latency_bytes(wire.size())}};
//   bough::low_latency group{std::move(mine)};  // any remote writes that keep the order of bytes
//   bough::allreduce(group, std::span(x), bough::plus{}); // in place; or (group, in, out, op)
//   bough::barrier(group);
//
// Calls are blocking, one at a time, and the same in the same order on all ranks. For calls that
// overlap, are longer or are other collectives, use a communicator over one_sided. Both can be used
// side by side, each over regions of its own.
//
// Forms, for any number of ranks:
//   flat      Each rank writes to every other and combines all values: the time of one write, with
//             size - 1 writes by each rank.
//   doubling  log2(size) rounds of one write, and two more if size is no power of two.
//   tree      Operands go up and the result comes down, each rank with k others at each level: the
//             time of 2 log_{k+1}(size) writes, 2 (size - 1) writes in all.
//
// Ranks: any number. Op: any that is known to be associative. It need not commute: the lower rank's
// value stands left. All ranks get the same bits: flat combines from rank 0 on, tree combines in
// one place in the order of its tree, and doubling combines with the same bracket on all ranks.
// Elements travel as bytes, without a wire form, and hold no addresses.
//
// Errors: they throw bough::error. If the last argument is a std::error_code or a bough::status, it
// gets the error instead. A rank that fails, dies or makes another call ends the group. The others
// notice it when they wait (peer_dead, peer_aborted, call_mismatch), at the latest at the deadline;
// later calls end with group_poisoned. The content of `out` is then unspecified.
//
// Source: the flag in the data line, Gupta et al. 2003, section 5 (bottom fill); known from GPU
// libraries as the LL protocol.
#ifndef BOUGH_DIRECT_LOW_LATENCY_HPP
#define BOUGH_DIRECT_LOW_LATENCY_HPP

#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/call/arguments.hpp>
#include <bough/core/config.hpp>
#include <bough/direct/low_latency/flag_in_data_channel.hpp>
#include <bough/op/combine.hpp>
#include <bough/schedule/goal.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

enum class low_latency_form : std::uint8_t { automatic, flat, doubling, tree };

struct low_latency_options {
    std::uint32_t most_bytes = 56;                       // of a vector, 8 to 8192; 56 and the flag fill a cache line
    low_latency_form form = low_latency_form::automatic; // by costs and cores of the medium, if it tells them
    std::uint32_t k = 3;                                 // for tree: children at each level, at least 1
    std::uint64_t timeout_ns = 30'000'000'000;           // of a call
};

// The bytes that it needs of each rank's region.
constexpr std::uint64_t low_latency_bytes(rank_t ranks, const low_latency_options& options = {}) noexcept {
    return detail::flagged_layout{ranks, options.most_bytes}.bytes();
}

// X: a RemoteWriteTransport that keeps the order of bytes. Used by one thread at a time.
template <class X>
class low_latency {
public:
    // Pre: the options are equal on all ranks; the region has low_latency_bytes(size, options)
    // bytes and no other user. If the options or the region are wrong, every call ends with that
    // error.
    explicit low_latency(X writes, const low_latency_options& options = {})
        : lines_(std::move(writes), options.most_bytes, options.timeout_ns, refused(options)), k_(options.k),
          form_(options.form == low_latency_form::automatic ? best_form(lines_.writes(), lines_.size())
                                                            : options.form) {
        plan_ = std::uint64_t{form_ == low_latency_form::tree ? options.k : 0} << 8 | static_cast<std::uint64_t>(form_);
        if (form_ == low_latency_form::flat) lines_.needs_all();
        if (!lines_.failure()) scratch_.resize(lines_.most_bytes() / sizeof(block) + 1);
    }

    rank_t rank() const noexcept { return lines_.rank(); }
    rank_t size() const noexcept { return lines_.size(); }
    low_latency_form form() const noexcept { return form_; }
    std::uint32_t most_bytes() const noexcept { return lines_.most_bytes(); }

    // The remote writes that it uses.
    const X& writes() const noexcept { return lines_.writes(); }

    // bough::allreduce and bough::barrier call these (bough/call/names.hpp).
    template <class T, std::size_t Extent, class O>
    status call(goal::allreduce, std::span<T, Extent> data, const O& op) {
        return run<T>(goal::allreduce::kind, data, data, op);
    }
    template <class T, std::size_t Extent, class U, std::size_t InExtent, class O>
    requires std::same_as<std::remove_const_t<U>, T> status call(goal::allreduce, std::span<U, InExtent> in,
                                                                 std::span<T, Extent> out, const O& op) {
        return run<T>(goal::allreduce::kind, in, out, op);
    }
    status call(goal::barrier) {
        const auto nothing = [](std::byte a, std::byte) { return a; };
        return run<std::byte>(goal::barrier::kind, {}, {}, nothing);
    }

private:
    struct alignas(64) block {
        std::byte bytes[64];
    };

    template <class T, class O>
    status run(std::uint8_t kind, std::span<const T> in, std::span<T> out, const O& op) {
        static_assert(detail::explain_written<T>() && explain_op<O, T>());
        static_assert(travels_as_bytes_v<T> && alignof(T) <= 64,
                      "bough: low_latency works on elements that travel as bytes, without a wire form");
        constexpr std::size_t gap = alignof(T) > 8 ? alignof(T) - 8 : 0; // so that payloads are aligned
        call_signature s = detail::signature_of<T, O>(in.size(), 0);
        s.kind = kind;
        s.plan = plan_;
        if (const status* refused = lines_.begin(s)) return *refused;
        status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T));
        if (!bad && in.size_bytes() > most_bytes() - std::min<std::size_t>(gap, most_bytes())) {
            bad = invalid_argument("data: longer than the group's most_bytes");
            bad.code = errc::size_overflow;
        }
        if (bad) { // the others wait for data that will not come
            lines_.fail(bad);
            return lines_.failure();
        }
        if (size() == 1) {
            std::copy(in.begin(), in.end(), out.begin());
            return {};
        }
#if BOUGH_HAS_EXCEPTIONS
        try {
#endif
            if (run_form<gap>(in, out, op)) return {};
#if BOUGH_HAS_EXCEPTIONS
        } catch (...) {
            lines_.fail({.code = errc::op_threw});
        }
#endif
        return lines_.failure();
    }

    static status refused(const low_latency_options& options) noexcept {
        if (options.most_bytes < 8 || options.most_bytes > 8192)
            return invalid_argument("most_bytes: must be 8 to 8192");
        return options.k < 1 ? invalid_argument("k: must be at least 1") : status{};
    }
    static low_latency_form best_form(const X& x, rank_t p) noexcept {
        std::uint32_t rounds = 0;
        while (p >> (rounds + 1) != 0) ++rounds;
        if ((p & (p - 1)) != 0) rounds += 2;
        if constexpr (requires { x.cores(); }) // in each round every rank needs a turn on a core
            if (x.cores() < p) return low_latency_form::flat;
        double latency_ns = 100, write_ns = 25; // typical for shared memory; write_ns is at least this
        if constexpr (requires { x.default_costs().message_latency_ns; }) {
            latency_ns = x.default_costs().message_latency_ns;
            write_ns = std::max(write_ns, x.default_costs().gap.base_ns);
        }
        const double round_ns = latency_ns + 2 * write_ns;
        return latency_ns + 2 * write_ns * (p - 1.0) <= rounds * round_ns ? low_latency_form::flat
                                                                          : low_latency_form::doubling;
    }

    template <class T>
    static const T* typed(const std::byte* end, std::size_t count) noexcept {
        return reinterpret_cast<const T*>(end) - count;
    }

    template <std::size_t Gap, class T, class O>
    BOUGH_ALWAYS_INLINE bool run_form(std::span<const T> in, std::span<T> out, const O& op) {
        if (form_ == low_latency_form::flat) return run_flat<Gap>(in, out.data(), op);
        if (in.data() != out.data()) std::copy(in.begin(), in.end(), out.begin());
        return form_ == low_latency_form::tree ? run_tree<Gap>(out, op) : run_doubling<Gap>(out, op);
    }

    template <std::size_t Gap, class T, class O>
    BOUGH_ALWAYS_INLINE bool run_flat(std::span<const T> in, T* out, const O& op) {
        const rank_t me = rank(), p = size();
        const std::size_t n = in.size();
        const std::span<const std::byte> mine = lines_.hold(std::as_bytes(in));
        for (rank_t r = me + 1; r != me + p; ++r)
            if (!lines_.template post<Gap>(r < p ? r : r - p, mine)) return false;
        const auto find = [&](rank_t r, const T*& value) {
            if (r == me) return value = in.data(), true;
            const std::byte* const end = lines_.template await<Gap>(r);
            if (end != nullptr) value = typed<T>(end, n);
            return end != nullptr;
        };
        // In place, this rank's own value must not be overwritten before it is used.
        T* const sum = me >= 2 && in.data() == out ? reinterpret_cast<T*>(scratch_.data()) : out;
        const T *first = nullptr, *next = nullptr;
        if (!find(0, first) || !find(1, next) || !lines_.settle()) return false;
        bough::combine(op, first, next, sum, n);
        for (rank_t r = 2; r != p; ++r) {
            if (!find(r, next)) return false;
            bough::combine(op, static_cast<const T*>(sum), next, sum, n);
        }
        if (sum != out) std::copy_n(sum, n, out);
        return true;
    }

    // Combines a peer's value with `x`. `before`: the peer's value stands left of it.
    template <std::size_t Gap, class T, class O>
    bool take_in(rank_t from, bool before, std::span<T> x, const O& op) {
        const std::byte* const end = lines_.template await<Gap>(from);
        if (end == nullptr || !lines_.settle()) return false;
        const T *theirs = typed<T>(end, x.size()), *mine = x.data();
        before ? bough::combine(op, theirs, mine, x.data(), x.size())
               : bough::combine(op, mine, theirs, x.data(), x.size());
        return true;
    }
    template <std::size_t Gap, class T>
    bool receive(rank_t from, std::span<T> x) {
        const std::byte* const end = lines_.template await<Gap>(from);
        if (end == nullptr || !lines_.settle()) return false;
        std::copy_n(typed<T>(end, x.size()), x.size(), x.data());
        return true;
    }

    // If size is no power of two, the first ranks act in pairs.
    template <std::size_t Gap, class T, class O>
    bool run_doubling(std::span<T> x, const O& op) {
        const rank_t me = rank(), p = size();
        rank_t whole = 1;
        while (whole <= p / 2) whole *= 2;
        const rank_t pairs = p - whole;
        const bool paired = me < 2 * pairs;
        if (paired && me % 2 == 1) return send<Gap>(me - 1, x) && receive<Gap>(me - 1, x);
        if (paired && !take_in<Gap>(me + 1, false, x, op)) return false;
        const rank_t mine = paired ? me / 2 : me - pairs;
        for (rank_t mask = 1; mask != whole; mask *= 2) {
            const rank_t theirs = mine ^ mask, peer = theirs < pairs ? 2 * theirs : theirs + pairs;
            if (!send<Gap>(peer, x) || !take_in<Gap>(peer, theirs < mine, x, op)) return false;
        }
        return !paired || (send<Gap>(me + 1, x) && lines_.settle());
    }
    template <std::size_t Gap, class T>
    bool send(rank_t to, std::span<T> x) {
        return lines_.template post<Gap>(to, lines_.hold(std::as_bytes(x)));
    }

    // At each level, k + 1 subtrees that follow each other become one: the root of the first takes
    // in the values of the others.
    template <std::size_t Gap, class T, class O>
    bool run_tree(std::span<T> x, const O& op) {
        const std::uint64_t me = rank(), p = size(), wide = std::uint64_t{k_} + 1;
        std::uint64_t step = 1;
        const auto for_each_child = [&](auto&& f) { // f(child) for each child of this level
            for (std::uint64_t child = me + step; child < p && child < me + step * wide; child += step)
                if (!f(static_cast<rank_t>(child))) return false;
            return true;
        };
        for (; step < p && me % (step * wide) == 0; step *= wide)
            if (!for_each_child([&](rank_t child) { return take_in<Gap>(child, false, x, op); })) return false;
        if (me != 0) {
            const auto parent = static_cast<rank_t>(me - me % (step * wide));
            if (!send<Gap>(parent, x) || !receive<Gap>(parent, x)) return false;
        }
        const std::span<const std::byte> sum = lines_.hold(std::as_bytes(x));
        while (step != 1) { // children with the largest subtrees first
            step /= wide;
            if (!for_each_child([&](rank_t child) { return lines_.template post<Gap>(child, sum); })) return false;
        }
        return lines_.settle();
    }

    detail::flag_in_data_channel<X> lines_;
    std::uint32_t k_;
    low_latency_form form_;
    std::uint64_t plan_ = 0; // the form and k: equal in all calls, as part of the signature
    std::vector<block> scratch_;
};

} // namespace bough

#endif
