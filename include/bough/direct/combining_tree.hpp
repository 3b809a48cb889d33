// SPDX-License-Identifier: BSL-1.0
// combining_tree: short reductions of the processes of one node, in which a late rank does the work
// of the ranks that waited for it. No rank is woken on the way.
//
//   bough::combining_tree tree{bough::common_memory{wire}};    // bough/remote/common_memory.hpp
//   bough::operation op = bough::start_reduce(tree, x, bough::plus{}, bough::root{0});
//   compute();                            // the result is there as soon as the last rank has come
//   op.wait();
//
//   start_reduce(tree, data, op, root{r})         start_allreduce(tree, data, op)      in place
//   start_reduce(tree, in, out, op, root{r})      start_allreduce(tree, in, out, op)
//   reduce, allreduce                             the same, to their end; throw bough::error
// Data lie in memory that all ranks see. At each inner node, the rank that comes first leaves. The
// rank that comes second combines both sides and goes on up. So when start_ returns, a rank has
// done all of its part; a reduce has then ended on all ranks but the root. The last rank to come
// makes the result: log2(p) combines after its arrival, without a message or a wake-up.
//
// Ranks: any number. Op: any that is known to be associative. It need not commute: the lower rank's
// value stands left. Which values are combined with which depends only on the number of ranks, so
// all ranks get the same bits each time. A rank combines with its own copy of the op on behalf of
// others, so an op with state must be equal on all ranks. Elements travel as bytes, without a wire
// form, and hold no addresses.
//
// Bounds: most_bytes of data. Memory is held for in_flight operations at a time. An operation that
// is started beyond that contributes in a later call on this tree (start, poll, wait), when all
// ranks that get the result of an older one have looked at it.
//
// Errors: as those of other operations. If a rank dies before its part is done, the group ends with
// peer_dead; if it dies or leaves later, nothing is missing. If the kernel stops a rank while it
// combines, the ranks that need the result wait for it. Deaths and the timeout are noticed in any
// call on this tree that finds nothing to do; deaths are looked for at most every 2 ms. A deadline
// names the lowest rank that has not come. It names none if all have come, and one has not looked
// at a result whose memory is waited for. In a forked child each operation ends with forked_child,
// and the parent's group sees nothing of what the child does.
//
// Source: the combining is Yew, Tzeng, Lawrie 1987; to leave at once, Wagner et al. 2003.
// (doc/design/012-late-children.md)
#ifndef BOUGH_DIRECT_COMBINING_TREE_HPP
#define BOUGH_DIRECT_COMBINING_TREE_HPP

#include <bough/allreduce.hpp>
#include <bough/call/front_door.hpp>
#include <bough/direct/combining_tree/state.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/schedule/goal.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

struct combining_tree_options {
    std::uint32_t most_bytes = 4096;           // of one operation, 1 to 1 MiB; longer ones end with size_overflow
    std::uint32_t in_flight = 8;               // operations for which memory is held; fewer if it does not suffice
    std::uint64_t timeout_ns = 30'000'000'000; // of an operation, from its start
};

// M: common_memory, or a class like it. Used by one thread at a time. Handles may outlive it.
template <class M>
class combining_tree {
public:
    // Collective, with the same most_bytes and in_flight on all ranks; it does not wait for other
    // ranks. It fails on a rank if its options break a rule or differ from those of the rank that
    // came first, or if the memory does not suffice for one operation. Then each operation of that
    // rank ends with invalid_argument, and those of the others with group_poisoned or peer_aborted
    // and that cause.
    explicit combining_tree(M memory, const combining_tree_options& options = {}) {
        using words = detail::combining_words;
        words::shape shape{memory.size(), 1, options.most_bytes};
        const std::uint64_t room = memory.bytes().size(), fixed = words::shape::fixed_bytes(shape.ranks);
        const std::uint64_t banks = room < fixed ? 0 : (room - fixed) / shape.bank_bytes();
        status refused;
        if (options.most_bytes < 1 || options.most_bytes > 1u << 20)
            refused = invalid_argument("most_bytes: must be 1 to 1 MiB");
        else if (options.in_flight < 1)
            refused = invalid_argument("in_flight: must be at least 1");
        else if (banks == 0)
            refused = invalid_argument("memory: too little for one operation of most_bytes");
        else
            shape.banks = static_cast<std::uint32_t>(std::min<std::uint64_t>(options.in_flight, banks));
        state_ = std::make_shared<detail::combining_state<M>>(std::move(memory), shape, options.timeout_ns, refused);
    }

    rank_t rank() const noexcept { return state_->rank(); }
    rank_t size() const noexcept { return state_->size(); }

    // bough::start_reduce, start_allreduce, reduce and allreduce call these (bough/call/names.hpp).
    template <class T, std::size_t Extent, class O>
    operation start(goal::reduce, std::span<T, Extent> data, const O& op, root to) {
        return start_for<T>(data, data, op, to);
    }
    template <class T, std::size_t Extent, class U, std::size_t InExtent, class O>
    requires std::same_as<std::remove_const_t<U>, T> operation start(goal::reduce, std::span<U, InExtent> in,
                                                                     std::span<T, Extent> out, const O& op, root to) {
        return start_for<T>(in, out, op, to);
    }
    template <class T, std::size_t Extent, class O>
    operation start(goal::allreduce, std::span<T, Extent> data, const O& op) {
        return start_for<T>(data, data, op, std::nullopt);
    }
    template <class T, std::size_t Extent, class U, std::size_t InExtent, class O>
    requires std::same_as<std::remove_const_t<U>, T> operation start(goal::allreduce, std::span<U, InExtent> in,
                                                                     std::span<T, Extent> out, const O& op) {
        return start_for<T>(in, out, op, std::nullopt);
    }
    template <class Goal, class... A>
    requires requires(combining_tree& tree, const A&... a) { tree.start(Goal{}, a...); }
    status call(Goal, const A&... arguments) {
        status ended;
        start(Goal{}, arguments...).wait(ended);
        return ended;
    }

private:
    using state = detail::combining_state<M>;

    // `to`: the rank that gets the result; nothing: all ranks do.
    template <class T, class O>
    operation start_for(std::span<const T> in, std::span<T> out, const O& op, const std::optional<root>& to) {
        static_assert(detail::explain_written<T>() && explain_op<O, T>());
        static_assert(travels_as_bytes_v<T>,
                      "bough: a combining tree works on elements that travel as bytes, without a wire form");
        detail::combining_flight<M>* f = state::make(state_);
        operation made(f);
        const bool gets = !to || to->rank == rank();
        status bad = gets ? detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T))
                          : detail::check_data(in.data(), in.size(), sizeof(T));
        if (!bad && to && to->rank >= size()) bad = invalid_argument("root: not a rank of the group");
        if (!bad && in.size_bytes() > state_->most_bytes()) {
            bad = invalid_argument("data: longer than the tree's most_bytes");
            bad.code = errc::size_overflow;
        }
        if (bad) {
            state_->refuse(*f, bad);
            return made;
        }
        if constexpr (detail::is_stateless_v<O>)
            f->op = make_any_op<T>(op);
        else
            f->op = make_any_op<T>(f->kept.template make<O>(op));
        f->signature = detail::signature_of<T, O>(in.size(), to ? to->rank : 0);
        f->signature.kind = to ? goal::reduce::kind : goal::allreduce::kind;
        f->in = std::as_bytes(in);
        f->out = reinterpret_cast<std::byte*>(out.data());
        f->gets = gets;
        f->readers = to ? 1 : size();
        state_->start(*f);
        return made;
    }

    std::shared_ptr<state> state_;
};

} // namespace bough

#endif
