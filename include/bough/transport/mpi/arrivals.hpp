// SPDX-License-Identifier: BSL-1.0
// The frames that come to a rank over MPI: receives one after the other, and keeps each until it is
// used up.
#ifndef BOUGH_TRANSPORT_MPI_ARRIVALS_HPP
#define BOUGH_TRANSPORT_MPI_ARRIVALS_HPP

#include <bough/core/config.hpp>
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
    mpi_buffer data{}; // the frame as it came

    const std::byte* payload() const noexcept { return data.memory.get() + sizeof head; }
};

class mpi_arrivals {
public:
    // Pre: the core outlives the arrivals, and is open before frames are received.
    explicit mpi_arrivals(mpi_rank_core& core) noexcept : core_(&core) {}

    // Receives the next frame, as far as it has come. Null: not the whole of it has come.
    mpi_arrival* receive() {
        if (coming_ == nullptr) {
            MPI_Message message;
            MPI_Status about;
            int found = 0;
            if (MPI_Improbe(MPI_ANY_SOURCE, mpi_frame_tag, core_->group.comm, &found, &message, &about) != MPI_SUCCESS)
                return fail_all();
            if (found == 0) return nullptr;
            coming_ = &room();
            coming_->from = static_cast<rank_t>(about.MPI_SOURCE);
            if (MPI_Imrecv(coming_->data.memory.get(), static_cast<int>(longest()), MPI_BYTE, &message,
                           &coming_->data.request) != MPI_SUCCESS)
                return fail();
        }
        int came = 0; // frames longer than MPI sends at once come in pieces
        if (MPI_Test(&coming_->data.request, &came, MPI_STATUS_IGNORE) != MPI_SUCCESS) return fail();
        if (came == 0) return nullptr;
        std::memcpy(&coming_->head, coming_->data.memory.get(), sizeof coming_->head);
        return std::exchange(coming_, nullptr);
    }
    bool is_receiving() const noexcept { return coming_ != nullptr; }
    const mpi_arrival& operator[](std::uint64_t handle) const noexcept {
        return *list_[static_cast<std::size_t>(handle)];
    }
    // The frame is used up.
    void put(std::uint64_t handle) noexcept { spare_.push_back(handle); }

private:
    // Receiving the frame that is coming has failed.
    BOUGH_COLD mpi_arrival* fail() noexcept {
        core_->peers.fail(std::exchange(coming_, nullptr)->from);
        return nullptr;
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
        spare_.reserve(list_.size() + 1); // so that put() never allocates
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
    mpi_arrival* coming_ = nullptr;                  // the frame that is being received
};

} // namespace bough::detail

#endif
