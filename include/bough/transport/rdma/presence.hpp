// SPDX-License-Identifier: BSL-1.0
// Which peers of a rank are still there: it suspects those that seem to be gone, and says when the
// time has come to give them up.
//
// What a peer sent before its end may still be under way when its end is noticed. So a peer is
// suspected first. It is lost when the rank says so: when it has heard nothing more for a while, or
// when the peer itself has said that it leaves.
#ifndef BOUGH_TRANSPORT_RDMA_PRESENCE_HPP
#define BOUGH_TRANSPORT_RDMA_PRESENCE_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/alive.hpp>
#include <bough/transport/rdma/device.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class fabric_presence {
public:
    fabric_presence(rank_t me, rank_t size) : me_(me), peers_(size) {}

    // Watches the process of a rank on this machine.
    void watch(rank_t r, std::uint64_t process) {
        if (!watch_.add(r, process)) suspect(r);
    }

    // Neither suspected nor lost.
    bool is_here(rank_t r) const noexcept { return peers_[r].now == stage::here; }
    bool is_lost(rank_t r) const noexcept { return peers_[r].now >= stage::parted; }
    bool is_dead(rank_t r) const noexcept { return peers_[r].now == stage::dead; } // lost without a word
    // Whether it seems, or seemed when it was lost, to be gone without a word.
    bool seems_dead(rank_t r) const noexcept {
        return peers_[r].now == stage::suspected || peers_[r].now == stage::dead;
    }
    // Whether the loss of this rank was handed over to the user.
    bool is_reported(rank_t r) const noexcept { return peers_[r].reported; }
    void report(rank_t r) noexcept { peers_[r].reported = true; }

    BOUGH_COLD void suspect(rank_t r, errc why = errc::peer_dead) {
        peer& p = peers_[r];
        if (p.now != stage::here) return;
        p.now = stage::suspected;
        p.since_ns = steady_now_ns();
        p.fault = why;
        ++suspects_;
    }
    // Why the rank is suspected, or was; ok: it never was.
    errc fault(rank_t r) const noexcept { return peers_[r].fault; }
    // Something has come from the rank.
    void is_heard(rank_t r) noexcept { peers_[r].quiet = 0; }
    // Nothing more will come from the rank. False: that was known.
    BOUGH_COLD bool lose(rank_t r) noexcept {
        peer& p = peers_[r];
        if (p.now >= stage::parted) return false;
        suspects_ -= p.now == stage::suspected;
        p.now = p.now == stage::suspected ? stage::dead : stage::parted;
        return true;
    }

    // Pre: a poll has found nothing. Calls give_up(rank, for how many ns it has been suspected) for
    // each suspect of which 16 such polls and 2 ms brought nothing.
    template <class F>
    void judge(const F& give_up) {
        if (suspects_ != 0) judge_suspects(give_up);
    }
    // Looks, at most once a millisecond, for processes that have ended. False: it was too early.
    template <RdmaEnds Device, class Options>
    bool look(Device& device, const Options& options, std::uint64_t now_ns) {
        const auto is_asked = [this](rank_t r) { return r != me_ && !is_lost(r); };
        const auto is_gone = [this](rank_t r) { suspect(r); };
        return watch_.look(device, options, static_cast<rank_t>(peers_.size()), now_ns, is_asked, is_gone);
    }
    // While ranks meet: the first rank for which needs(rank) is true and that has been suspected
    // for 20 ms, so that its last frames have had time to come. no_rank: there is none.
    template <class F>
    rank_t died_early(const F& needs) {
        watch_.look([this](rank_t r) { suspect(r); });
        const std::uint64_t now_ns = steady_now_ns();
        for (rank_t r = 0; r != peers_.size(); ++r)
            if (seems_dead(r) && now_ns - peers_[r].since_ns > 20'000'000 && needs(r)) return r;
        return no_rank;
    }

private:
    // What is known of a peer. parted: it was lost, and nothing had been suspected before.
    enum class stage : std::uint8_t { here, suspected, parted, dead };
    struct peer {
        stage now = stage::here;
        bool reported = false;
        errc fault = errc::ok;
        std::uint32_t quiet = 0;    // polls that found nothing while it was suspected
        std::uint64_t since_ns = 0; // when it was suspected
    };

    template <class F>
    BOUGH_COLD void judge_suspects(const F& give_up) {
        const std::uint64_t now_ns = steady_now_ns();
        for (rank_t r = 0; r != peers_.size(); ++r) {
            peer& p = peers_[r];
            if (p.now == stage::suspected && ++p.quiet >= 16 && now_ns - p.since_ns >= 2'000'000)
                give_up(r, now_ns - p.since_ns);
        }
    }

    rank_t me_;
    std::vector<peer> peers_;
    std::uint32_t suspects_ = 0;
    fabric_watch watch_;
};

} // namespace bough::detail

#endif
