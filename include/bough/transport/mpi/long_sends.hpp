// SPDX-License-Identifier: BSL-1.0
// The long payloads that leave a rank over MPI: each is announced, and waits in the sender's memory
// until its receiver asks for it. Until then it can be taken back.
#ifndef BOUGH_TRANSPORT_MPI_LONG_SENDS_HPP
#define BOUGH_TRANSPORT_MPI_LONG_SENDS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/mpi/buffer.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/rank_core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class mpi_long_sends {
public:
    // Pre: the core outlives the sends.
    explicit mpi_long_sends(mpi_rank_core& core) noexcept : core_(&core) {}

    // Allocates what is kept for each rank. May throw.
    void prepare(rank_t ranks) { announced_.resize(ranks); }

    // False: MPI refuses the announcement, and the peer has failed. If memory runs out, nothing has happened.
    bool announce(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        core_->make_room();
        make_room();
        core_->events.expect();
        list_.push_back({.id = id, .to = to, .number = announced_[to], .bytes = bytes});
        const mpi_frame head{
            .tag = tag, .bytes = bytes.size(), .number = announced_[to]++, .kind = mpi_frame::announcement};
        if (core_->say(to, head)) return true;
        list_.pop_back();
        core_->events.expect_less();
        return false;
    }

    // The receiver waits for a payload. False: there is no memory to answer, and nothing has happened.
    bool wanted(rank_t by, std::uint32_t number) {
        const auto s = find_waiting(by, number);
        if (s == list_.end()) return true;
        if (s->taken_back) {
            if (!core_->has_room()) return false;
            list_.erase(s);
            core_->say(by, {.number = number, .kind = mpi_frame::none});
            return true;
        }
        const mpi_bytes n(s->bytes.size());
        if (MPI_Isend(s->bytes.data(), n.count, n.type, static_cast<int>(by), mpi_payload_tag(number),
                      core_->group.comm, &s->request) == MPI_SUCCESS)
            return true;
        s->request = MPI_REQUEST_NULL;
        core_->peers.fail(by);
        return true;
    }
    // The receiver does not want a payload.
    void unwanted(rank_t by, std::uint32_t number) {
        const auto s = find_waiting(by, number);
        if (s == list_.end()) return;
        if (!s->taken_back) core_->events.complete(s->id, errc::ok, by);
        list_.erase(s);
    }
    // Ends those that MPI has sent.
    void test() {
        for (std::size_t i = 0; i != list_.size();)
            if (list_[i].is_under_way() && is_over(list_[i]))
                list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
            else
                ++i;
    }

    // False: there is no such send. One that is under way will end well, soon.
    bool cancel(std::uint64_t id) {
        const auto s =
            std::find_if(list_.begin(), list_.end(), [id](const long_send& x) { return x.id == id && !x.taken_back; });
        if (s == list_.end()) return false;
        if (s->is_under_way()) return true;
        s->taken_back = true;
        s->bytes = {};
        core_->events.complete(id, errc::cancelled, s->to);
        return true;
    }
    BOUGH_COLD void lose(rank_t r) {
        for (long_send& s : list_) {
            if (s.to != r) continue;
            if (s.is_under_way()) { // MPI may read its bytes until the request is over
                s.given_up = errc::peer_dead;
                MPI_Cancel(&s.request);
            } else if (!s.taken_back) {
                core_->events.complete(s.id, errc::peer_dead, r);
            }
        }
        std::erase_if(list_, [r](const long_send& s) { return s.to == r && !s.is_under_way(); });
    }

    // This rank leaves: nobody shall get what has not been asked for.
    void take_back() noexcept {
        for (long_send& s : list_) s.taken_back |= !s.is_under_way();
    }
    bool empty() const noexcept { return list_.empty(); }
    // Whether all have been taken back.
    bool are_over() const noexcept {
        return std::all_of(list_.begin(), list_.end(), [](const long_send& s) { return s.taken_back; });
    }

private:
    struct long_send {
        std::uint64_t id = 0;
        rank_t to = no_rank;
        std::uint32_t number = 0;
        std::span<const std::byte> bytes{};
        MPI_Request request = MPI_REQUEST_NULL; // null: its receiver has not asked for the payload
        bool taken_back = false;
        errc given_up = errc::ok; // what its event says if MPI cancels it

        bool is_under_way() const noexcept { return request != MPI_REQUEST_NULL; }
    };

    void make_room() {
        if (list_.size() == list_.capacity()) list_.reserve(2 * list_.size() + 8);
    }
    // Whether MPI is done with a send; then its event is due.
    bool is_over(long_send& s) {
        MPI_Status about;
        int over = 0, cancelled = 0;
        const bool good = MPI_Test(&s.request, &over, &about) == MPI_SUCCESS;
        if (good && over == 0) return false;
        if (good) MPI_Test_cancelled(&about, &cancelled);
        core_->events.complete(s.id, !good ? errc::peer_dead : cancelled != 0 ? s.given_up : errc::ok, s.to);
        if (!good) core_->peers.fail(s.to);
        return true;
    }
    std::vector<long_send>::iterator find_waiting(rank_t to, std::uint32_t number) {
        return std::find_if(list_.begin(), list_.end(),
                            [=](const long_send& s) { return s.to == to && s.number == number && !s.is_under_way(); });
    }

    mpi_rank_core* core_;
    std::vector<long_send> list_;
    std::vector<std::uint32_t> announced_; // how many long messages each rank was told of
};

} // namespace bough::detail

#endif
