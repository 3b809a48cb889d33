// SPDX-License-Identifier: BSL-1.0
// tcp_unsent: the links of a rank that have something to write, or owe their peer credit. Each poll
// writes what their sockets take.
#ifndef BOUGH_TRANSPORT_TCP_UNSENT_HPP
#define BOUGH_TRANSPORT_TCP_UNSENT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/tcp/link.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// `Link`: a tcp_link.
template <class Link>
class tcp_unsent {
public:
    explicit tcp_unsent(rank_t ranks) { links_.reserve(ranks); }

    bool empty() const noexcept { return links_.empty(); }
    const std::vector<Link*>& links() const noexcept { return links_; }
    // Something waits to be handed to a socket.
    bool any() const noexcept {
        return std::any_of(links_.begin(), links_.end(),
                           [](const Link* link) { return link->open && link->has_to_write(); });
    }
    void add(Link& link) {
        if (std::exchange(link.dirty, true)) return;
        links_.push_back(&link);
    }
    // Begins a new turn of each link, tells its peer what was used up, and writes. The ends of sends
    // go to `ends`. False: there is no memory to tell a peer, which is done in a later call.
    bool write(due_events& ends) noexcept {
        std::size_t kept = 0;
        bool has_memory = true;
        for (Link* link : links_) {
            link->out.new_turn();
            bool is_owed = link->open && link->in.window().owes_credit();
            if (is_owed) {
                ignore_exceptions([&] { give_credit(*link), is_owed = false; });
                has_memory = has_memory && !is_owed;
            }
            if (link->open) link->flush([&](std::uint64_t id) { ends.complete(id, errc::ok, link->peer); });
            if (link->open && (link->has_to_write() || is_owed))
                links_[kept++] = link;
            else
                link->dirty = false;
        }
        links_.resize(kept);
        return has_memory;
    }

private:
    static void give_credit(Link& link) {
        if (link.out.give_credit(link.in.window().used_up())) link.in.window().credit_given();
    }

    std::vector<Link*> links_;
};

} // namespace bough::detail

#endif
