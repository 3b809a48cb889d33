// SPDX-License-Identifier: BSL-1.0
// spare_frame: memory of an operation that must not be destroyed while a transport holds part of it.
#ifndef BOUGH_COMMUNICATOR_SPARE_FRAME_HPP
#define BOUGH_COMMUNICATOR_SPARE_FRAME_HPP

#include <bough/core/config.hpp>

#include <atomic>

namespace bough::inline BOUGH_ABI::detail {

// The memory of one started operation (bough/communicator/operation_state.hpp), kept for the next; or
// what a communicator knows of arrivals.
struct spare_frame {
    virtual ~spare_frame() = default;
    spare_frame* next_kept = nullptr;
};

// Frames with memory that a transport has not given back. They are never destroyed, but stay
// reachable here.
inline std::atomic<spare_frame*> leaked_frames{nullptr};
inline void keep_for_good(spare_frame& frame) noexcept {
    frame.next_kept = leaked_frames.load();
    while (!leaked_frames.compare_exchange_weak(frame.next_kept, &frame)) {
    }
}

} // namespace bough::detail

#endif
