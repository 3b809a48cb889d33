// SPDX-License-Identifier: BSL-1.0
// Which way the messages of a plan come to a rank: what a decision says of protocols beside its prices.
//
//   choose(among, at, {.bytes = 65536}, costs, {.through = comm})
//   auto ways = ways_of(plan_ref(plan), {.bytes = 65536}, end);     what it then has in `ways`
//
// Messages that come in one way stand in one row, with their number and lengths, and with the range of
// lengths for which the transport takes that way. The range is found by questions to the transport
// alone (SaysWays).
#ifndef BOUGH_SELECT_WAYS_HPP
#define BOUGH_SELECT_WAYS_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/in_place.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/plan_ref.hpp>
#include <bough/select/two_levels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Messages that come in one way.
struct message_way {
    protocol way = protocol::copied;
    bool combines = false;                                      // they are combined where they land
    bool from_far = false;                                      // from ranks that are not near, if some are
    std::uint64_t count = 0;                                    // how many messages
    std::uint64_t least_bytes = 0, most_bytes = 0;              // their lengths
    std::uint64_t from_bytes = 0;                               // the way is that of all lengths from here on,
    std::uint64_t to_bytes = longest;                           // up to here
    static constexpr std::uint64_t longest = ~std::uint64_t{0}; // there is no limit

    friend constexpr bool operator==(const message_way&, const message_way&) = default;
};

// A transport or communicator that is asked for the ways of messages. It must live as long as this. One
// that does not say them is asked nothing.
class way_teller {
public:
    way_teller() noexcept = default;
    template <class T>
    requires detail::HasRank<T> && detail::HasSize<T> // and not this type, which has no size
    way_teller(const T& transport)
    noexcept {
        if constexpr (SaysWays<T>) {
            transport_ = &transport;
            rank_ = transport.rank();
            add_ = &add_ways<T>;
        }
    }
    explicit operator bool() const noexcept { return add_ != nullptr; }
    rank_t rank() const noexcept { return rank_; } // whose messages it tells of
    // Adds the messages that the transport's rank gets in the plan. Pre: *this; the plan is of its ranks.
    void add(std::vector<message_way>& made, const plan_ref& plan, const problem& what) const {
        add_(made, transport_, plan, what);
    }

private:
    template <class T>
    static void add_ways(std::vector<message_way>& made, const void* transport, const plan_ref& plan,
                         const problem& what);

    const void* transport_ = nullptr;
    rank_t rank_ = no_rank;
    void (*add_)(std::vector<message_way>&, const void*, const plan_ref&, const problem&) = nullptr;
};

namespace detail {

// The lengths around this one for which the way is the same.
template <SaysWays T>
void find_range(const T& transport, rank_t peer, message_way& row) {
    const auto is_same = [&](std::uint64_t bytes) {
        return transport.way_of(peer, memory_size(bytes), row.combines) == row.way;
    };
    std::uint64_t outside = 0, inside = row.least_bytes;
    if (is_same(0)) {
        inside = 0;
    } else {
        while (inside - outside > 1) {
            const std::uint64_t middle = outside + (inside - outside) / 2;
            (is_same(middle) ? inside : outside) = middle;
        }
    }
    row.from_bytes = inside;
    constexpr std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max(); // nothing is longer
    row.to_bytes = message_way::longest;
    if (row.least_bytes >= most || is_same(most)) return;
    inside = row.least_bytes;
    outside = most;
    while (outside - inside > 1) {
        const std::uint64_t middle = inside + (outside - inside) / 2;
        (is_same(middle) ? inside : outside) = middle;
    }
    row.to_bytes = inside;
}

template <int = 0>
void add_way(std::vector<message_way>& made, const message_way& row) {
    for (message_way& known : made) {
        if (known.way != row.way || known.combines != row.combines || known.from_far != row.from_far ||
            known.from_bytes != row.from_bytes || known.to_bytes != row.to_bytes)
            continue;
        known.count += row.count;
        known.least_bytes = std::min(known.least_bytes, row.least_bytes);
        known.most_bytes = std::max(known.most_bytes, row.most_bytes);
        return;
    }
    made.push_back(row);
}

} // namespace detail

template <class T>
void way_teller::add_ways(std::vector<message_way>& made, const void* at, const plan_ref& plan, const problem& what) {
    const T& transport = *static_cast<const T*>(at);
    const rank_t me = transport.rank();
    BOUGH_EXPECTS(plan.size() == transport.size(), "through: joins another number of ranks than the plan has");
    const model::block_sizes sizes(what.bytes, plan.blocks(), what.element_bytes);
    schedule mine;
    plan.emit(me, mine);
    const std::span<const step> steps(mine.steps);
    std::vector<unsigned char> is_combined(steps.size(), 0);
    const detail::dependents after = detail::dependents_of(infer_dependences(steps));
    detail::for_each_in_place(steps, after.view(),
                              [&](std::uint32_t receive, std::uint32_t) { is_combined[receive] = 1; });
    std::uint64_t parts = 0; // bytes of the message so far
    for (std::size_t i = 0; i != steps.size(); ++i) {
        const step& s = steps[i];
        if (s.verb != verb::receive) continue;
        const std::uint64_t bytes = parts + sizes.bytes_of(s.out);
        parts = s.more ? bytes : 0;
        if (s.more) continue;
        message_way row{.combines = is_combined[i] != 0, .count = 1, .least_bytes = bytes, .most_bytes = bytes};
        row.way = transport.way_of(s.peer, detail::memory_size(bytes), row.combines);
        if (what.levels != nullptr) {
            const auto& group = what.levels->groups().group_of_rank();
            row.from_far = group[s.peer] != group[me];
        }
        detail::find_range(transport, s.peer, row);
        detail::add_way(made, row);
    }
}

// Which way the messages of a plan come to the rank of this transport. None, if the transport does not say.
template <int = 0>
std::vector<message_way> ways_of(const plan_ref& plan, const problem& what, const way_teller& transport) {
    std::vector<message_way> made;
    if (transport) transport.add(made, plan, what);
    return made;
}

} // namespace bough

#endif
