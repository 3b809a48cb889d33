// SPDX-License-Identifier: BSL-1.0
// The frames that come to a rank over MPI: receives them as they come, and keeps each until it is used
// up.
#ifndef BOUGH_TRANSPORT_MPI_ARRIVALS_HPP
#define BOUGH_TRANSPORT_MPI_ARRIVALS_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/mpi/buffer.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/rank_core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct mpi_arrival {
    std::uint64_t handle = 0;
    mpi_frame head{};
    rank_t from = no_rank;
    mpi_buffer data{}; // the frame as it came

    const std::byte* payload() const noexcept { return data.memory.get() + sizeof head; }
};

class mpi_arrivals {
public:
    // Pre: the core outlives the arrivals, and is open before frames are received.
    explicit mpi_arrivals(mpi_rank_core& core) noexcept : core_(&core) {}

    // Receives the next frame that has come whole. Null: there is none. A frame whose sender is slow holds
    // up no frames of others, but those of its own sender: these are handed over in their order.
    mpi_arrival* receive() {
        if (!coming_.empty())
            if (mpi_arrival* const whole = next_whole()) return whole;
        for (mpi_arrival* a; (a = begin()) != nullptr;) {
            const bool is_next =
                std::none_of(coming_.begin(), coming_.end(), [a](auto* b) { return b->from == a->from; });
            const outcome how = is_next ? test(*a) : outcome::comes;
            if (how == outcome::whole) return a;
            if (how == outcome::comes) coming_.push_back(a); // add() has made room
        }
        return nullptr;
    }
    bool is_receiving() const noexcept { return !coming_.empty(); }
    const mpi_arrival& operator[](std::uint64_t handle) const noexcept {
        return *list_[static_cast<std::size_t>(handle)];
    }
    // The frame is used up.
    void put(std::uint64_t handle) noexcept { spare_.push_back(handle); }

private:
    // Begins to receive a frame. Null: none comes.
    mpi_arrival* begin() {
        MPI_Message message;
        MPI_Status about;
        int found = 0;
        if (MPI_Improbe(MPI_ANY_SOURCE, mpi_frame_tag, core_->group.comm, &found, &message, &about) != MPI_SUCCESS)
            return fail_all();
        if (found == 0) return nullptr;
        mpi_arrival& a = room();
        a.from = static_cast<rank_t>(about.MPI_SOURCE);
        if (MPI_Imrecv(a.data.memory.get(), static_cast<int>(longest()), MPI_BYTE, &message, &a.data.request) ==
            MPI_SUCCESS)
            return &a;
        core_->peers.fail(a.from);
        return nullptr;
    }
    // The first whole frame among those that are coming, but for those behind one of the same sender.
    BOUGH_COLD mpi_arrival* next_whole() {
        for (std::size_t i = 0; i != coming_.size();) {
            mpi_arrival* const a = coming_[i];
            const auto at = coming_.begin() + static_cast<std::ptrdiff_t>(i);
            const bool is_next = std::none_of(coming_.begin(), at, [a](auto* b) { return b->from == a->from; });
            const outcome how = is_next ? test(*a) : outcome::comes;
            if (how != outcome::comes) coming_.erase(at);
            if (how == outcome::whole) return a;
            if (how == outcome::comes) ++i;
        }
        return nullptr;
    }
    enum class outcome : std::uint8_t { comes, whole, failed };
    outcome test(mpi_arrival& a) noexcept {
        int came = 0; // frames longer than MPI sends at once come in pieces
        if (MPI_Test(&a.data.request, &came, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return core_->peers.fail(a.from), outcome::failed;
        if (came == 0) return outcome::comes;
        std::memcpy(&a.head, a.data.memory.get(), sizeof a.head);
        return outcome::whole;
    }
    // MPI tells nothing of any peer.
    BOUGH_COLD mpi_arrival* fail_all() noexcept {
        for (rank_t r = 0; r != core_->group.size; ++r)
            if (r != core_->group.rank) core_->peers.fail(r);
        return nullptr;
    }
    mpi_arrival& room() {
        if (spare_.empty()) add();
        mpi_arrival& a = *list_[static_cast<std::size_t>(spare_.back())];
        spare_.pop_back();
        return a;
    }
    BOUGH_COLD void add() {
        spare_.reserve(list_.size() + 1); // so that neither put() nor a frame that waits in coming_ allocates
        coming_.reserve(list_.size() + 1);
        auto made = std::make_unique<mpi_arrival>();
        made->handle = list_.size();
        made->data = mpi_buffer(longest());
        list_.push_back(std::move(made));
        spare_.push_back(list_.size() - 1);
    }
    std::size_t longest() const noexcept { return sizeof(mpi_frame) + core_->group.options.eager_bytes; }

    mpi_rank_core* core_;
    std::vector<std::unique_ptr<mpi_arrival>> list_; // by handle
    std::vector<std::uint64_t> spare_;               // handles
    std::vector<mpi_arrival*> coming_;               // frames that are being received, in the order of their coming
};

} // namespace bough::detail

#endif
