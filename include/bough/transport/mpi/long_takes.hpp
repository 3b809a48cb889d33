// SPDX-License-Identifier: BSL-1.0
// The long payloads that come to a rank over MPI: it asks for each and receives it where its user
// wants it. One that was given up is received all the same, so that its sender can go on.
#ifndef BOUGH_TRANSPORT_MPI_LONG_TAKES_HPP
#define BOUGH_TRANSPORT_MPI_LONG_TAKES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
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

class mpi_long_takes {
public:
    // Pre: the core outlives the takes.
    explicit mpi_long_takes(mpi_rank_core& core) noexcept : core_(&core) {}

    // Posts the receive. The caller then asks for the payload. False: MPI refuses. If memory runs out, nothing
    // has happened.
    bool post(rank_t from, std::uint32_t number, std::span<std::byte> into, std::uint64_t id) {
        make_room();
        core_->events.expect();
        takes_.push_back({.id = id, .from = from, .number = number, .bytes = into.size()});
        const mpi_bytes n(into.size());
        if (MPI_Irecv(into.data(), n.count, n.type, static_cast<int>(from), mpi_payload_tag(number), core_->group.comm,
                      &takes_.back().request) == MPI_SUCCESS)
            return true;
        takes_.pop_back();
        core_->events.expect_less();
        return false;
    }
    // The sender has taken a payload back.
    void refused(rank_t from, std::uint32_t number) {
        std::erase_if(orphans_, [=](const orphan& o) { return o.from == from && o.number == number; });
        for (std::size_t i = 0; i != takes_.size(); ++i)
            if (takes_[i].from == from && takes_[i].number == number) return (void)give_up(i, errc::peer_aborted);
    }
    // Ends those that have come.
    void test() {
        for (std::size_t i = 0; i < takes_.size();)
            if (!test(i)) ++i;
        if (orphans_.empty()) return;
        for (orphan& o : orphans_) drain(o);
        std::erase_if(orphans_, [](const orphan& o) { return o.over; });
    }

    // False: there is no such take.
    bool cancel(std::uint64_t id) {
        for (std::size_t i = 0; i != takes_.size(); ++i) {
            if (takes_[i].id != id) continue;
            if (takes_[i].given_up == errc::ok) give_up(i, errc::cancelled);
            return true;
        }
        return false;
    }
    BOUGH_COLD void lose(rank_t r) {
        for (std::size_t i = takes_.size(); i-- != 0;)
            if (takes_[i].from == r) give_up(i, errc::peer_dead);
        std::erase_if(orphans_, [r](const orphan& o) { return o.from == r && o.data.request == MPI_REQUEST_NULL; });
    }
    BOUGH_COLD void give_all_up() {
        for (std::size_t i = takes_.size(); i-- != 0;) give_up(i, errc::peer_dead);
    }
    bool empty() const noexcept { return takes_.empty() && orphans_.empty(); }

private:
    struct long_take {
        std::uint64_t id = 0;
        rank_t from = no_rank;
        std::uint32_t number = 0;
        std::size_t bytes = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        errc given_up = errc::ok; // what its event says if MPI cancels it
    };
    // A payload that nobody wants any more, but that may still come.
    struct orphan {
        rank_t from = no_rank;
        std::uint32_t number = 0;
        std::size_t bytes = 0;
        mpi_buffer data{};
        bool over = false;
    };

    void make_room() {
        if (takes_.size() == takes_.capacity()) takes_.reserve(2 * takes_.size() + 8);
        orphans_.reserve(orphans_.size() + takes_.capacity()); // each may become one
    }
    // True: take number i is over, and its event is due.
    bool test(std::size_t i) {
        const long_take t = takes_[i];
        MPI_Status about;
        int over = 0, cancelled = 0;
        const bool good = MPI_Test(&takes_[i].request, &over, &about) == MPI_SUCCESS;
        if (good && over == 0) return false;
        if (good) MPI_Test_cancelled(&about, &cancelled);
        core_->events.complete(t.id, !good ? errc::peer_dead : cancelled != 0 ? t.given_up : errc::ok, t.from);
        takes_.erase(takes_.begin() + static_cast<std::ptrdiff_t>(i));
        if (!good) core_->peers.fail(t.from);
        if (cancelled != 0 && t.given_up == errc::cancelled && !core_->peers.is_lost(t.from))
            orphans_.push_back({.from = t.from, .number = t.number, .bytes = t.bytes}); // it was asked for: it comes
        return true;
    }
    // Gives take number i up, unless its payload is already coming. Its event comes now or later.
    void give_up(std::size_t i, errc code) {
        takes_[i].given_up = code;
        MPI_Cancel(&takes_[i].request);
        test(i);
    }
    // Receives a payload that nobody wants. Without memory for it, a later call does that.
    void drain(orphan& o) {
        int over = 0;
        if (o.data.request == MPI_REQUEST_NULL) {
            if (!o.data.memory && !has_memory(o)) return;
            MPI_Message message;
            MPI_Status about;
            o.over = MPI_Improbe(static_cast<int>(o.from), mpi_payload_tag(o.number), core_->group.comm, &over,
                                 &message, &about) != MPI_SUCCESS;
            if (o.over || over == 0) return;
            const mpi_bytes n(o.bytes);
            MPI_Imrecv(o.data.memory.get(), n.count, n.type, &message, &o.data.request);
        }
        if (MPI_Test(&o.data.request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over != 0) o.over = true;
    }

    // The payload has come, and there is memory for it.
    bool has_memory(orphan& o) {
        int has_come = 0;
        o.over = MPI_Iprobe(static_cast<int>(o.from), mpi_payload_tag(o.number), core_->group.comm, &has_come,
                            MPI_STATUS_IGNORE) != MPI_SUCCESS;
        if (o.over || has_come == 0) return false;
        ignore_exceptions([&o] { o.data = mpi_buffer(o.bytes); });
        if (!o.data.memory) core_->lacking = o.bytes;
        return o.data.memory != nullptr;
    }

    mpi_rank_core* core_;
    std::vector<long_take> takes_;
    std::vector<orphan> orphans_;
};

} // namespace bough::detail

#endif
