// SPDX-License-Identifier: BSL-1.0
// packing_room: memory in which blocking calls pack what does not lie as it travels. The communicator
// keeps it for the next call.
//
// A call borrows it, and takes memory of its own if another call has it, as one inside the functions
// of a user may. So the largest call allocates, and those after it do not.
#ifndef BOUGH_COMMUNICATOR_PACKING_ROOM_HPP
#define BOUGH_COMMUNICATOR_PACKING_ROOM_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

struct packing_room {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
};

// What front doors use of a vector of bytes. resize() keeps nothing, and clears nothing.
template <int>
class basic_borrowed_bytes {
public:
    explicit basic_borrowed_bytes(packing_room& from) noexcept : from_(from), mine_(std::exchange(from, {})) {}
    basic_borrowed_bytes(const basic_borrowed_bytes&) = delete;
    basic_borrowed_bytes& operator=(const basic_borrowed_bytes&) = delete;
    ~basic_borrowed_bytes() {
        if (mine_.size > from_.size) from_ = std::move(mine_);
    }

    void resize(std::size_t size) {
        if (size <= mine_.size) return;
        mine_ = {};
        mine_.bytes.reset(new std::byte[size]);
        mine_.size = size;
    }
    std::byte* data() noexcept { return mine_.bytes.get(); }

private:
    packing_room& from_;
    packing_room mine_;
};
using borrowed_bytes = basic_borrowed_bytes<0>;

} // namespace bough::detail

#endif
