// SPDX-License-Identifier: BSL-1.0
// Counts the writes between a rank and each of its peers, and asks the peers how many have landed:
// by their answers flushes end.
//
// A flush is over when the target has counted as many writes as had been begun. One count would not
// be enough: a later write may overtake an earlier one and be counted in its place. So each write
// has one of two kinds. Writes that begin after a question have the other kind than those that the
// question asks about. There is one question to a peer at a time.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_QUESTIONS_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_QUESTIONS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/region_core.hpp>
#include <bough/transport/rdma/region_flushes.hpp>
#include <bough/transport/rdma/region_words.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Writes of one rank to another, as counted at either end.
struct fabric_write_count {
    std::array<std::uint64_t, 2> of{}; // a count for each kind

    std::uint64_t all() const noexcept { return of[0] + of[1]; }
    // The question "have so many of this kind landed?" as one word. It is not 0 if there are any.
    std::uint64_t question(std::uint32_t kind) const noexcept { return of[kind] << 1 | kind; }
    bool answers(std::uint64_t question) const noexcept { return of[question & 1] >= question >> 1; }
};

template <RdmaWriter Device>
class fabric_questions {
public:
    using ticket = fabric_ticket;

    explicit fabric_questions(fabric_region_core<Device>& core) : core_(&core), peers_(core.group.size) {}

    // --- Counting ---

    // The kind of the next write of data to a rank.
    ticket::what kind_to(rank_t to) const noexcept { return ticket::data_of(peers_[to].kind); }
    // The device has taken a write of that kind.
    void has_begun(rank_t to) noexcept { ++peers_[to].begun.of[peers_[to].kind]; }
    std::uint64_t begun(rank_t to) const noexcept { return peers_[to].begun.all(); }
    // A write of data has landed here.
    void has_landed(rank_t from, ticket::what kind) {
        peer& p = peers_[from];
        ++p.landed.of[kind == ticket::data ? 0 : 1];
        if (p.question != 0) answer(from);
    }
    std::uint64_t landed(rank_t from) const noexcept { return peers_[from].landed.all(); }

    // --- Flushes ---

    // `behind`: the number of the next write, if a long put to the rank is not all under way;
    // otherwise 0.
    posted flush(rank_t to, std::uint64_t id, std::uint64_t behind) {
        const peer& p = peers_[to];
        if (p.begun.all() == p.known_landed && behind == 0) return posted::complete;
        flushes_.add({to, id, p.begun.all(), behind}, core_->events);
        ask(to);
        return posted::pending;
    }
    // A long put is all under way. waits(flush): whether that flush has to wait for another one.
    template <class F>
    void is_under_way(rank_t to, const F& waits) {
        flushes_.count(to, begun(to), waits);
        ask(to);
    }
    // The rest of the long put with that number will never be under way.
    BOUGH_COLD void has_failed(rank_t to, std::uint64_t number) {
        flushes_.end(errc::peer_dead, core_->events,
                     [=](const fabric_flushes::open& f) { return f.to == to && f.before > number; });
    }
    BOUGH_COLD void lose(rank_t r) {
        flushes_.end(errc::peer_dead, core_->events, [r](const fabric_flushes::open& f) { return f.to == r; });
    }

    // --- Words ---

    void asked(rank_t from) {
        peers_[from].question = core_->memory.word(from, ticket::question);
        answer(from);
    }
    void answered(rank_t from) {
        peer& p = peers_[from];
        // An answer to nothing that was asked.
        if (p.asked == 0 || core_->memory.word(from, ticket::answer) != p.asked) return;
        p.known_landed = p.asked_begun;
        p.asked = 0;
        flushes_.landed(from, p.known_landed, core_->events);
        ask(from);
    }
    // Says the words that are due to a rank.
    void go_on(rank_t to) {
        if (core_->writes.owes(to, ticket::question)) ask(to);
        if (core_->writes.owes(to, ticket::answer)) answer(to);
    }

private:
    struct peer {
        // Writes of data to it that the device has taken; from it, that landed here.
        fabric_write_count begun, landed;
        std::uint32_t kind = 0;         // of the next write to it
        std::uint64_t known_landed = 0; // how many of the writes to it have landed, as far as it has told
        std::uint64_t asked = 0;        // the question under way; 0: there is none
        std::uint64_t asked_begun = 0;  // how many writes had been begun when that question was asked
        std::uint64_t question = 0;     // its question that this rank has not answered; 0: there is none
    };

    // Asks the next question, if a flush needs one.
    void ask(rank_t to) {
        peer& p = peers_[to];
        if (p.asked != 0 || !flushes_.asks(to, p.known_landed)) return;
        const std::uint64_t word = p.begun.question(p.kind);
        if (!core_->writes.say(to, ticket::question, word)) return;
        p.asked = word;
        p.asked_begun = p.begun.all();
        p.kind ^= 1;
    }
    void answer(rank_t to) {
        peer& p = peers_[to];
        if (p.question == 0 || !p.landed.answers(p.question)) return;
        if (core_->writes.say(to, ticket::answer, p.question)) p.question = 0;
    }

    fabric_region_core<Device>* core_;
    std::vector<peer> peers_;
    fabric_flushes flushes_;
};

} // namespace bough::detail

#endif
