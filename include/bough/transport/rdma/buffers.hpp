// SPDX-License-Identifier: BSL-1.0
// A pool of registered buffers for frames. A buffer is reused once the device has done with it.
#ifndef BOUGH_TRANSPORT_RDMA_BUFFERS_HPP
#define BOUGH_TRANSPORT_RDMA_BUFFERS_HPP

#include <bough/core/ignore_exceptions.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/op.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMemory Device>
class fabric_buffers {
public:
    // Pre: the device outlives the buffers.
    fabric_buffers(Device& device, fabric_op::what kind, std::uint64_t access, std::size_t longest, std::size_t most)
        : device_(&device), kind_(kind), access_(access), stride_((longest + 63) / 64 * 64), most_(most) {}

    fabric_buffer& operator[](std::uint32_t index) noexcept {
        return blocks_[index / per_block]->buffers[index % per_block];
    }
    // So that the next get(true) allocates nothing. If memory runs out, nothing has happened.
    void make_room() {
        if (spare_.empty()) (void)grow();
    }
    // Null: all are in use, or no more memory may be registered. `beyond` allows more than the limit.
    fabric_buffer* get(bool beyond = false) {
        if (!beyond && in_use() >= (most_ + per_block - 1) / per_block * per_block) return nullptr;
        if (spare_.empty() && !grow()) return nullptr;
        fabric_buffer& b = (*this)[spare_.back()];
        spare_.pop_back();
        return &b;
    }
    // The same for whoever can try it again later: also null if memory has run out.
    fabric_buffer* find(bool beyond = false) noexcept {
        fabric_buffer* b = nullptr;
        ignore_exceptions([&] { b = get(beyond); });
        return b;
    }
    void put(fabric_buffer& b) noexcept { spare_.push_back(b.op.index); }
    // In a forked child: forgets the buffers. They belong to the parent, and the device may have
    // marked their memory so that only the parent may touch it.
    void abandon() noexcept {
        for (auto& b : blocks_) (void)b.release();
    }
    // How many buffers there may be. The limit is raised while operations that may never end hold
    // some.
    std::size_t most() const noexcept { return most_; }
    void raise_limit(std::size_t by) noexcept { most_ += by; }
    void lower_limit(std::size_t by) noexcept { most_ -= by; }
    std::uint32_t made() const noexcept { return static_cast<std::uint32_t>(blocks_.size() * per_block); }
    std::size_t in_use() const noexcept { return blocks_.size() * per_block - spare_.size(); }

private:
    static constexpr std::uint32_t per_block = 32;
    struct block {
        std::unique_ptr<fabric_line[]> memory;
        typename Device::memory registered;
        fabric_buffer buffers[per_block]{};
    };

    bool grow() {
        auto made = std::make_unique<block>();
        made->memory = std::make_unique<fabric_line[]>(per_block * stride_ / 64);
        std::byte* first = bytes_of_lines(made->memory.get());
        if (!device_->register_memory({first, per_block * stride_}, access_, made->registered)) return false;
        const auto base = static_cast<std::uint32_t>(blocks_.size()) * per_block;
        spare_.reserve(base + per_block); // so that put() never allocates
        block& added = *blocks_.emplace_back(std::move(made));
        for (std::uint32_t i = per_block; i-- != 0;) {
            fabric_buffer& b = added.buffers[i];
            b.op.kind = kind_;
            b.op.index = base + i;
            b.memory = first + i * stride_;
            b.descriptor = Device::descriptor(added.registered);
            spare_.push_back(base + i);
        }
        return true;
    }

    Device* device_;
    fabric_op::what kind_;
    std::uint64_t access_;
    std::size_t stride_, most_;
    std::vector<std::unique_ptr<block>> blocks_;
    std::vector<std::uint32_t> spare_;
};

} // namespace bough::detail

#endif
