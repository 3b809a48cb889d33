// SPDX-License-Identifier: BSL-1.0
// The frames that come to a rank over MPI: receives them as they come, and keeps each until it is used
// up.
#ifndef BOUGH_TRANSPORT_MPI_ARRIVALS_HPP
#define BOUGH_TRANSPORT_MPI_ARRIVALS_HPP

#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/mpi/buffer.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/rank_core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct mpi_arrival {
    std::uint64_t handle = 0;
    mpi_frame head{};
    rank_t from = no_rank;
    mpi_buffer data{};       // the frame as it came
    bool is_refused = false; // an announcement that was let go, without memory to say so

    const std::byte* payload() const noexcept { return data.memory.get() + sizeof head; }
};

class mpi_arrivals {
public:
    // Allocates what is kept for each rank. May throw.
    void prepare(rank_t ranks) { held_.assign(ranks, 0); }
    // Before the first poll; `eager_bytes` as the ranks have agreed on them.
    void set_longest(std::size_t eager_bytes) noexcept { longest_ = sizeof(mpi_frame) + eager_bytes; }
    // Whether there is memory for a frame.
    bool has_spare() const noexcept { return !spare_.empty(); }
    // Makes some. If memory runs out, nothing has happened.
    BOUGH_COLD void add() {
        spare_.reserve(list_.size() + 1); // so that neither put() nor a frame that waits in coming_ allocates
        coming_.reserve(list_.size() + 1);
        auto made = std::make_unique<mpi_arrival>();
        made->handle = list_.size();
        made->data = mpi_buffer(longest_);
        list_.push_back(std::move(made));
        spare_.push_back(list_.size() - 1);
    }
    // Before the frames of one poll.
    void start_poll() noexcept {
        next_ = 0;
        if (++poll_ == 0) ++poll_;
    }
    // Receives the next frame that has come whole. Null: there is none, or no memory for it yet. A frame
    // whose sender is slow holds up no frames of others, but those of its own sender: these are handed over
    // in their order. If one of them fails, the peer does: what comes behind it has a gap before it.
    mpi_arrival* receive(mpi_rank_core& core) {
        if (!coming_.empty())
            if (mpi_arrival* const whole = next_whole(core)) return whole;
        for (mpi_arrival* a; (a = begin(core)) != nullptr;) {
            const outcome how = held_[a->from] == poll_ ? outcome::comes : test(core, *a);
            if (how == outcome::whole) return a;
            if (how == outcome::comes) hold(*a);
        }
        return nullptr;
    }
    bool is_receiving() const noexcept { return !coming_.empty(); }
    const mpi_arrival& operator[](std::uint64_t handle) const noexcept {
        return *list_[static_cast<std::size_t>(handle)];
    }
    // The frame is used up.
    void put(std::uint64_t handle) noexcept { spare_.push_back(handle); }
    // The frame that has been received last cannot be used for want of memory. It comes again in the next
    // poll, and those of its sender behind it.
    BOUGH_COLD void put_off(mpi_arrival& a) noexcept {
        held_[a.from] = poll_;
        coming_.insert(coming_.begin() + static_cast<std::ptrdiff_t>(next_++), &a); // add() has made room
    }
    // An announcement is used up, and its sender must be told.
    BOUGH_COLD void refuse(std::uint64_t handle) noexcept {
        list_[static_cast<std::size_t>(handle)]->is_refused = true;
    }
    // Calls told(arrival) for each of these until it returns false.
    template <class F>
    BOUGH_COLD void tell_refused(const F& told) noexcept {
        for (const auto& a : list_) {
            if (!a->is_refused) continue;
            if (!told(*a)) return;
            a->is_refused = false;
            put(a->handle);
        }
    }

private:
    // Begins to receive a frame. Null: none comes, or there is no memory for it.
    mpi_arrival* begin(mpi_rank_core& core) {
        if (spare_.empty()) ignore_exceptions([this] { add(); });
        if (spare_.empty()) return nullptr;
        MPI_Message message;
        MPI_Status about;
        int found = 0;
        if (MPI_Improbe(MPI_ANY_SOURCE, mpi_frame_tag, core.group.comm, &found, &message, &about) != MPI_SUCCESS)
            return fail_all(core);
        if (found == 0) return nullptr;
        mpi_arrival& a = *list_[static_cast<std::size_t>(spare_.back())];
        a.from = static_cast<rank_t>(about.MPI_SOURCE);
        if (MPI_Imrecv(a.data.memory.get(), static_cast<int>(longest_), MPI_BYTE, &message, &a.data.request) !=
            MPI_SUCCESS)
            return core.peers.fail(a.from), nullptr;
        spare_.pop_back();
        return &a;
    }
    // The first whole frame among those that are coming, but for those behind one of the same sender.
    BOUGH_COLD mpi_arrival* next_whole(mpi_rank_core& core) {
        while (next_ != coming_.size()) {
            mpi_arrival* const a = coming_[next_];
            const outcome how = held_[a->from] == poll_ ? outcome::comes : test(core, *a);
            if (how == outcome::comes) {
                held_[a->from] = poll_;
                ++next_;
                continue;
            }
            coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(next_));
            if (how == outcome::whole) return a;
        }
        return nullptr;
    }
    // It comes slowly, and later ones of its sender wait for it.
    void hold(mpi_arrival& a) noexcept {
        held_[a.from] = poll_;
        coming_.push_back(&a); // add() has made room
        next_ = coming_.size();
    }
    enum class outcome : std::uint8_t { comes, whole, failed };
    outcome test(mpi_rank_core& core, mpi_arrival& a) noexcept {
        int came = 0; // frames longer than MPI sends at once come in pieces
        if (MPI_Test(&a.data.request, &came, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            core.peers.fail(a.from);
            if (a.data.request == MPI_REQUEST_NULL) put(a.handle);
            return outcome::failed;
        }
        if (came == 0) return outcome::comes;
        std::memcpy(&a.head, a.data.memory.get(), sizeof a.head);
        return outcome::whole;
    }
    // MPI tells nothing of any peer.
    BOUGH_COLD static mpi_arrival* fail_all(mpi_rank_core& core) noexcept {
        for (rank_t r = 0; r != core.group.size; ++r)
            if (r != core.group.rank) core.peers.fail(r);
        return nullptr;
    }
    std::size_t longest_ = 0;                        // frame, in bytes
    std::vector<std::unique_ptr<mpi_arrival>> list_; // by handle
    std::vector<std::uint64_t> spare_;               // handles
    std::vector<mpi_arrival*> coming_;               // frames that are being received, in the order of their coming
    std::size_t next_ = 0;                           // the first of coming_ that this poll has not looked at
    std::vector<std::uint32_t> held_;                // by rank: the last poll that found a slow frame of it
    std::uint32_t poll_ = 1;                         // the number of this poll; never 0
};

} // namespace bough::detail

#endif
