// SPDX-License-Identifier: BSL-1.0
// Keeps as many receives posted to a device as this rank wants, and reuses their buffers.
#ifndef BOUGH_TRANSPORT_RDMA_RECEIVES_HPP
#define BOUGH_TRANSPORT_RDMA_RECEIVES_HPP

#include <bough/transport/rdma/buffers.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/op.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// A device that receives nothing will do as long as nobody calls refill().
template <RdmaWriter Device>
class fabric_receives {
public:
    // Keeps `wanted` buffers of `longest` bytes posted. There are at most `most` buffers in all.
    // Pre: the device outlives the receives.
    fabric_receives(Device& device, std::size_t longest, std::size_t wanted, std::size_t most)
        : device_(&device), longest_(longest), wanted_(wanted),
          buffers_(device, fabric_op::what::receive, Device::receives, longest, most) {}

    // Posts what is lacking, as far as the device takes it. False: there were no more buffers, or no memory
    // for them.
    bool refill() noexcept {
        while (posted_ < wanted_) {
            fabric_buffer* b = buffers_.find();
            if (b == nullptr) return false;
            // The device takes no more now.
            if (!device_->receive(*b, longest_)) return buffers_.put(*b), true;
            ++posted_;
        }
        return true;
    }
    bool has_posted() const noexcept { return posted_ != 0; }
    // The device has used a buffer up.
    fabric_buffer& used(std::uint32_t index) noexcept {
        --posted_;
        return buffers_[index];
    }
    fabric_buffer& operator[](std::uint32_t index) noexcept { return buffers_[index]; }
    // The buffer may be used again.
    void put(fabric_buffer& b) noexcept {
        buffers_.put(b);
        refill();
    }
    // The device is closed: nothing is posted any more.
    void close() noexcept { wanted_ = 0; }
    // In a forked child: forgets the buffers, because they belong to the parent.
    void abandon() noexcept { buffers_.abandon(); }

private:
    Device* device_;
    std::size_t longest_, wanted_, posted_ = 0;
    fabric_buffers<Device> buffers_;
};

} // namespace bough::detail

#endif
