// SPDX-License-Identifier: BSL-1.0
// How the ranks of remote writes meet and part: each says hello, and before it ends it says bye and
// how many writes it has sent, so that its peers know when all of them have landed.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_PARTINGS_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_PARTINGS_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/region_core.hpp>
#include <bough/transport/rdma/region_words.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaWriter Device>
class fabric_partings {
public:
    using ticket = fabric_ticket;

    explicit fabric_partings(fabric_region_core<Device>& core) : core_(&core), peers_(core.group.size) {}

    // --- Meeting ---

    // Says the hellos that are due.
    void greet() {
        for (rank_t r = 0; r != peers_.size(); ++r)
            if (core_->writes.owes(r, ticket::hello)) (void)core_->writes.say(r, ticket::hello, 1);
    }
    bool has_met(rank_t r) const noexcept { return peers_[r].heard.has(ticket::hello); }
    // The first rank that has not said hello or could not be greeted; the group's size: none.
    rank_t missing() const noexcept {
        rank_t r = 0;
        while (r != peers_.size() && (r == core_->group.rank || (has_met(r) && !core_->writes.owes(r, ticket::hello))))
            ++r;
        return r;
    }

    // --- Parting ---

    // A word has come: hello, bye or bye_heard.
    void hear(rank_t from, ticket::what word) {
        peers_[from].heard.add(word);
        if (word != ticket::bye) return;
        peers_[from].last = core_->memory.word(from, ticket::bye);
        (void)core_->writes.say(from, ticket::bye_heard, 1);
    }
    // Whether the rank has said bye, and `landed` writes are all that it has sent.
    bool has_ended(rank_t r, std::uint64_t landed) const noexcept {
        return peers_[r].heard.has(ticket::bye) && landed >= peers_[r].last;
    }
    // Says bye, unless `waits`: a long put to the rank is not all under way. `begun`: how many
    // writes this rank has sent to it.
    void say_bye(rank_t r, bool waits, std::uint64_t begun) {
        if (waits)
            core_->writes.owe(r, ticket::bye);
        else
            (void)core_->writes.say(r, ticket::bye, begun);
    }
    BOUGH_COLD void lose(rank_t r) noexcept { peers_[r].lost_ns = steady_now_ns(); }
    // Whether a rank that leaves need not wait for this peer any longer. It does not wait for
    // writes to a dead peer: some providers never say that these failed. To a peer that has left it
    // still sends what is due, but not for long.
    bool is_done(rank_t r, std::uint64_t now_ns, std::uint64_t grace_ns) const noexcept {
        const peer& p = peers_[r];
        const bool lost = core_->presence.is_lost(r);
        if (lost && (core_->presence.seems_dead(r) || now_ns - p.lost_ns > grace_ns)) return true;
        return (lost || p.heard.has(ticket::bye_heard) || p.heard.has(ticket::bye)) &&
               !core_->writes.owes(r, ticket::bye) && !core_->writes.are_flying(r);
    }

private:
    struct peer {
        fabric_words heard{};      // what it has said: hello, bye, bye_heard
        std::uint64_t last = 0;    // how many writes it has sent in all, once it has said bye
        std::uint64_t lost_ns = 0; // when it was lost
    };

    fabric_region_core<Device>* core_;
    std::vector<peer> peers_;
};

} // namespace bough::detail

#endif
