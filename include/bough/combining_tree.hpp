// SPDX-License-Identifier: BSL-1.0
// combining_tree: short reductions of the processes of one node, in which a late rank does the work of those that it has kept
// waiting. Nobody is woken on the way.
//
//   bough::combining_tree tree{bough::common_memory{wire}};    // bough/transport/common_memory.hpp
//   bough::operation op = bough::start_reduce(tree, x, bough::plus{}, bough::root{0});
//   compute();                                                // the result is there as soon as the last rank has come
//   op.wait();
//
//   start_reduce(tree, data, op, root{r})         start_allreduce(tree, data, op)          in place
//   start_reduce(tree, in, out, op, root{r})      start_allreduce(tree, in, out, op)
//   reduce, allreduce                             the same, to their end; throw bough::error
// Data lie in memory that all ranks see. Who comes to an inner node first leaves; who comes second combines both sides, and
// goes on up. So a rank has done all of its part when start_ returns, and that of reduce is at its end everywhere but at the
// root. The last rank to come makes the result: log2(p) combines after its arrival, without a message or a wake-up.
//
// Ranks: any. Op: any that is known to be associative; it need not commute: the lower rank's value stands left, and what is
// combined with what depends on the number of ranks alone, so all ranks get the same bits each time. One rank combines with
// its own copy of the op on behalf of others: an op with state must be equal on all ranks. Elements travel as bytes, without
// a wire form, and hold no addresses.
// Bounds: most_bytes of data; in_flight operations at a time hold memory: one that is started beyond that contributes in a later
// call on this tree (start, poll, wait), when an older one has been looked at by those who get its result.
// Errors: as those of other operations. A rank that dies before its part is done ends the group with peer_dead; one that dies
// or leaves after it is not missed. A rank that the kernel stops while it combines keeps those waiting that need the result.
// Source: the combining is Yew, Tzeng, Lawrie 1987; to leave at once, Wagner et al. 2003. (doc/design/012-late-children.md)
#ifndef BOUGH_COMBINING_TREE_HPP
#define BOUGH_COMBINING_TREE_HPP

#include <bough/detail/combining_state.hpp>
#include <bough/detail/contiguous.hpp>
#include <bough/detail/front_door.hpp>
#include <bough/operation.hpp>
#include <bough/schedule/goal.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

struct combining_tree_options {
    std::uint32_t most_bytes = 4096;           // of one operation, 1 to 1 MiB
    std::uint32_t in_flight = 8;               // operations that memory is held for; fewer if it does not suffice
    std::uint64_t timeout_ns = 30'000'000'000; // of an operation, from its start
};

// M: common_memory, or what is like it. Used by one thread at a time. Handles may outlive it.
template <class M>
class combining_tree {
public:
    // Collective, with the same most_bytes and in_flight on all ranks; it waits for nobody. Where the options break a rule or
    // differ, or the memory does not suffice for one operation, each operation ends with invalid_argument, on other ranks with
    // group_poisoned or peer_aborted and that cause.
    explicit combining_tree(M memory, const combining_tree_options& options = {}) {
        using words = detail::combining_words;
        const bool bad = options.most_bytes < 1 || options.most_bytes > 1u << 20 || options.in_flight < 1;
        words::shape shape{memory.size(), 1, bad ? 64 : (options.most_bytes + 63) / 64 * 64};
        const std::uint64_t room = memory.bytes().size(), fixed = words::shape::fixed_bytes(shape.ranks);
        BOUGH_EXPECTS(room >= fixed, "combining_tree: the memory has no room for a record of each rank");
        const std::uint64_t banks = (room - fixed) / shape.bank_bytes();
        shape.banks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bad ? 1 : options.in_flight, 1, banks + 1));
        status refused;
        if (bad) refused = invalid_argument("most_bytes: must be 1 to 1 MiB, and in_flight at least 1");
        if (!bad && banks == 0) refused = invalid_argument("memory: too little for one operation");
        if (shape.banks > banks && banks != 0) shape.banks = static_cast<std::uint32_t>(banks);
        state_ = std::make_shared<detail::combining_state<M>>(std::move(memory), shape, options.timeout_ns, refused);
    }

    rank_t rank() const noexcept { return state_->rank(); }
    rank_t size() const noexcept { return state_->size(); }

    // For the front doors below.
    const std::shared_ptr<detail::combining_state<M>>& state() const noexcept { return state_; }

private:
    std::shared_ptr<detail::combining_state<M>> state_;
};

namespace detail {

// `to`: no_rank for all.
template <class T, class M, class O>
operation start_combining(combining_tree<M>& tree, std::uint8_t kind, std::span<const T> in, std::span<T> out,
                          const O& op, rank_t to) {
    static_assert(explain_written<T>() && explain_op<O, T>());
    static_assert(travels_as_bytes_v<T>,
                  "bough: a combining tree works on elements that travel as bytes, without a wire form");
    const auto& state = tree.state();
    combining_flight<M>* f = combining_state<M>::make(state);
    operation made(f);
    const bool gets = to == no_rank || to == tree.rank();
    if (status bad = gets ? check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T))
                          : check_data(in.data(), in.size(), sizeof(T));
        bad || (to != no_rank && to >= tree.size()) || in.size_bytes() > state->most_bytes()) {
        if (!bad)
            bad = in.size_bytes() > state->most_bytes() ? status{.code = errc::size_overflow}
                                                        : invalid_argument("root: not a rank of the group");
        state->refuse(*f, bad);
        return made;
    }
    if constexpr (is_stateless_v<O>)
        f->op = make_any_op<T>(op);
    else
        f->op = make_any_op<T>(f->kept.template make<O>(op));
    f->signature = signature_of<T, O>(in.size(), to == no_rank ? 0 : to);
    f->signature.kind = kind;
    f->in = std::as_bytes(in);
    f->out = reinterpret_cast<std::byte*>(out.data());
    f->gets = gets;
    f->readers = to == no_rank ? tree.size() : 1;
    state->start(*f);
    return made;
}

} // namespace detail

template <class M, class T, std::size_t N, class O>
[[nodiscard]] operation start_reduce(combining_tree<M>& tree, std::span<T, N> data, const O& op, root to) {
    return detail::start_combining<T>(tree, goal::reduce::kind, data, data, op, to.rank);
}
template <class M, class T, std::size_t N, class U, std::size_t K, class O>
requires std::same_as<std::remove_const_t<U>, T>
[[nodiscard]] operation start_reduce(combining_tree<M>& tree, std::span<U, K> in, std::span<T, N> out, const O& op,
                                     root to) {
    return detail::start_combining<T>(tree, goal::reduce::kind, in, out, op, to.rank);
}
template <class M, class T, std::size_t N, class O>
[[nodiscard]] operation start_allreduce(combining_tree<M>& tree, std::span<T, N> data, const O& op) {
    return detail::start_combining<T>(tree, goal::allreduce::kind, data, data, op, no_rank);
}
template <class M, class T, std::size_t N, class U, std::size_t K, class O>
requires std::same_as<std::remove_const_t<U>, T>
[[nodiscard]] operation start_allreduce(combining_tree<M>& tree, std::span<U, K> in, std::span<T, N> out, const O& op) {
    return detail::start_combining<T>(tree, goal::allreduce::kind, in, out, op, no_rank);
}
// Data in a vector, an array or the like: each is taken as a span.
template <class M, class... A>
requires(detail::SpanLike<A> || ...) [[nodiscard]] operation start_reduce(combining_tree<M>& tree, A&&... arguments) {
    return start_reduce(tree, detail::as_span(std::forward<A>(arguments))...);
}
template <class M, class... A>
requires(detail::SpanLike<A> || ...) [[nodiscard]] operation
    start_allreduce(combining_tree<M>& tree, A&&... arguments) {
    return start_allreduce(tree, detail::as_span(std::forward<A>(arguments))...);
}
template <class M, class... A>
requires requires(combining_tree<M>& tree, A&&... a) { start_reduce(tree, std::forward<A>(a)...); }
void reduce(combining_tree<M>& tree, A&&... arguments) { start_reduce(tree, std::forward<A>(arguments)...).wait(); }
template <class M, class... A>
requires requires(combining_tree<M>& tree, A&&... a) { start_allreduce(tree, std::forward<A>(a)...); }
void allreduce(combining_tree<M>& tree, A&&... arguments) {
    start_allreduce(tree, std::forward<A>(arguments)...).wait();
}

} // namespace bough

#endif
