// SPDX-License-Identifier: BSL-1.0
// batch: many small reductions of any types and ops in one collective, with one message per edge
// for all of them.
//
//   bough::batch all;
//   all.add(energy, bough::plus{}).add(low, bough::min{}); // a double, a std::array<float, 3>: in place
//   all.add(in, out, op);                         // in.size() == out.size(), no partial overlap
//   allreduce(comm, all [, choice]);              // also reduce(comm, all, root{r} [, choice]);
//                                                 // both also with an ec
//   operation done = start_allreduce(comm, all);  // and bind_, start_reduce, bind_reduce
//
// The results are those of the calls one by one. They have the same bits if the plan does not cut
// vectors (trees, recursive_doubling), or if the ops are exact. A batch is one element, so a plan
// with blocks has it all in the first block.
//
// A batch refers to data, and keeps copies of ops. It may be used again: add once, call often; then
// nothing is allocated. Until a call of it has ended, it is neither changed nor used in another call:
// the program ends. Copies of a batch are the same batch.
//
// Every rank adds the same types, lengths and ops in the same order. If one does not, all get
// call_mismatch. Errors are those of the calls one by one. The largest batch is 4 GiB - 1 on the
// wire (size_overflow).
#ifndef BOUGH_BATCH_HPP
#define BOUGH_BATCH_HPP

#include <bough/allreduce.hpp>
#include <bough/call/batch_list.hpp>
#include <bough/call/contiguous.hpp>
#include <bough/call/contiguous_call.hpp>
#include <bough/reduce.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

class batch {
public:
    batch() : list_(std::make_shared<detail::batch_list>()) {}

    // A vector in place, or one value.
    template <class R, class O>
    batch& add(R& data, const O& op) {
        if constexpr (detail::is_span_v<R>) {
            return add_as<typename R::element_type>(data, data, op);
        } else if constexpr (detail::SpanLike<R&>) {
            const auto whole = detail::as_span(data);
            return add_as<typename decltype(whole)::element_type>(whole, whole, op);
        } else {
            return add_as<R>(std::span<R>(std::addressof(data), 1), std::span<R>(std::addressof(data), 1), op);
        }
    }
    template <class T, std::size_t Extent, class O>
    batch& add(const std::span<T, Extent>& data, const O& op) {
        return add_as<T>(data, data, op);
    }
    template <class U, class R, class O>
    requires((detail::SpanLike<U> || detail::is_span_v<std::remove_cvref_t<U>>)&&(
        detail::SpanLike<R> || detail::is_span_v<std::remove_cvref_t<R>>)) batch& add(U&& in, R&& out, const O& op) {
        static_assert(!detail::DyingContainer<U>,
                      "bough: a batch refers to its data: give a variable that lives as long, not a temporary");
        const auto from = detail::as_span(std::forward<U>(in));
        const auto to = detail::as_span(std::forward<R>(out));
        return add_as<typename decltype(to)::element_type>(from, to, op);
    }

    // Forgets what was added, and keeps the memory.
    void clear() noexcept { list_->clear(); }
    std::size_t size() const noexcept { return list_->size(); } // how many parts were added
    bool empty() const noexcept { return list_->empty(); }

    // For front doors.
    detail::batch_list& list() const noexcept { return *list_; }
    template <detail::RunsCalls Comm, class Choice>
    status run_allreduce(Comm& comm, const Choice& choice) const;
    template <detail::RunsCalls Comm, class Choice>
    status run_reduce(Comm& comm, root to, const Choice& choice) const;

private:
    template <class T, class O>
    batch& add_as(std::span<const T> in, std::span<T> out, const O& op) {
        using kept = std::decay_t<O>; // a function: its address
        if constexpr (!LiftedOp<kept, T>)
            static_assert(detail::explain_written<T>() && explain_wire<T>() && explain_op<kept, T>());
        list_->add<T, kept>(in.data(), in.size(), out.data(), out.size(), op);
        return *this;
    }

    std::shared_ptr<detail::batch_list> list_;
};

namespace detail {

// `writes`: this rank gets the results.
template <class Goal, RunsCalls Comm, class Choice, class Trees>
status run_batch(Comm& comm, const batch& given, const dimensions& at, bool writes, const Choice& choice,
                 const Trees& trees) {
    return detail::guard_call(comm, [&]() -> status {
        static_assert(explain_choice<Goal, Choice, true>());
        const batch& held = comm.hold(given);
        batch_list& list = held.list();
        if (const status bad = list.check(writes)) return comm.refuse(bad);
        list.lay_out();
        if (const status bad = comm.before([&list, call = &held] { return list.pack(call); })) return comm.refuse(bad);
        typed_call<std::byte> bytes{at,
                                    list.message(),
                                    writes ? list.message() : nullptr,
                                    list.bytes(),
                                    {&batch_list::combine, &list, list.bytes()},
                                    list.commutative(),
                                    list.signature(at.root)};
        bytes.exact = list.exact();
        contiguous_call<Comm> whole(comm);
        const auto run = [&] {
            if constexpr (std::same_as<Choice, automatic>)
                return detail::run_automatic<Goal>(whole, bytes, choice);
            else
                return detail::run_choice<Goal>(whole, bytes, choice, trees);
        };
        return comm.then(run(),
                         [&list, writes, call = &held] { writes ? list.unpack(call) : list.expect_packed_by(call); });
    });
}

} // namespace detail

template <detail::RunsCalls Comm, class Choice>
status batch::run_allreduce(Comm& comm, const Choice& choice) const {
    const dimensions at{.size = comm.size()};
    return detail::run_batch<goal::allreduce>(comm, *this, at, true, choice, detail::over_trees<tree_allreduce>{});
}
template <detail::RunsCalls Comm, class Choice>
status batch::run_reduce(Comm& comm, root to, const Choice& choice) const {
    if (to.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
    const dimensions at{.size = comm.size(), .root = to.rank};
    const bool is_root = comm.rank() == to.rank;
    return detail::run_batch<goal::reduce>(comm, *this, at, is_root, choice, detail::over_trees<tree_reduce>{});
}

} // namespace bough

#endif
