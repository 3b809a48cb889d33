// SPDX-License-Identifier: BSL-1.0
// The frames that a rank sends over MPI, in memory that is reused once MPI has sent them.
#ifndef BOUGH_TRANSPORT_MPI_OUTGOING_HPP
#define BOUGH_TRANSPORT_MPI_OUTGOING_HPP

#include <bough/transport/mpi/buffer.hpp>
#include <bough/transport/mpi/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mpi.h>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Memory that frames are sent from, reused once MPI has sent them.
class mpi_outgoing {
public:
    explicit mpi_outgoing(std::size_t longest) : longest_(longest) {}

    // Makes room: sending the next frame allocates nothing. If memory runs out, nothing has changed. Calls
    // failed(rank) for each earlier frame whose sending has failed.
    template <class F>
    void make_room(const F& failed) {
        if (free_.empty()) reclaim(failed);
        if (!free_.empty()) return;
        mpi_buffer made(frame_bytes());
        free_.reserve(made_ + 1); // before MPI has the memory
        flying_.reserve(made_ + 1);
        ++made_;
        free_.push_back(std::move(made));
    }
    // False: MPI refuses. `failed` as above.
    template <class F>
    bool send(MPI_Comm comm, int to, const mpi_frame& frame, std::span<const std::byte> payload, const F& failed) {
        make_room(failed);
        flight f{std::move(free_.back()), to, sent_ + 1};
        free_.pop_back();
        std::byte* const bytes = f.data.memory.get();
        std::memcpy(bytes, &frame, sizeof frame);
        if (!payload.empty()) std::memcpy(bytes + sizeof frame, payload.data(), payload.size());
        ++sent_;
        if (MPI_Isend(bytes, static_cast<int>(sizeof frame + payload.size()), MPI_BYTE, to, mpi_frame_tag, comm,
                      &f.data.request) != MPI_SUCCESS)
            return end(f), false;
        const progress how = test(f);
        if (how == progress::flies) flying_.push_back(std::move(f));
        return how != progress::failed;
    }
    // Frees the memory of the frames that MPI has sent by now. The test also moves the others on.
    template <class F>
    void reclaim(const F& failed) {
        for (std::size_t i = 0; i < flying_.size();) {
            flight& f = flying_[i];
            const int to = f.to;
            const progress how = test(f);
            if (how == progress::flies) {
                ++i;
                continue;
            }
            flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
            if (how == progress::failed) failed(to);
        }
    }
    std::size_t frame_bytes() const noexcept { return sizeof(mpi_frame) + longest_; }
    bool all_sent() const noexcept { return flying_.empty(); }
    // How many frames were sent so far, and how many of them, from the first on, need nothing more
    // from this process to reach rank `to`.
    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t sent_to(int to) const noexcept {
        for (const flight& f : flying_)
            if (f.to == to) return f.number - 1;
        return sent_;
    }
    template <class F>
    bool is_flying_to(const F& one_of) const {
        return std::any_of(flying_.begin(), flying_.end(), [&](const flight& f) { return one_of(f.to); });
    }

private:
    struct flight {
        mpi_buffer data;
        int to;
        std::uint64_t number; // of the frame
    };
    enum class progress { flies, sent, failed };

    progress test(flight& f) {
        int sent = 0;
        const bool good = MPI_Test(&f.data.request, &sent, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        if (good && sent == 0) return progress::flies;
        end(f);
        return good ? progress::sent : progress::failed;
    }
    void end(flight& f) noexcept {
        if (f.data.request == MPI_REQUEST_NULL) free_.push_back(std::move(f.data)); // there is room
    }

    std::size_t longest_, made_ = 0;
    std::vector<mpi_buffer> free_;
    std::vector<flight> flying_;
    std::uint64_t sent_ = 0;
};

} // namespace bough::detail

#endif
