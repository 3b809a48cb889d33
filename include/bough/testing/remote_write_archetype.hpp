// SPDX-License-Identifier: BSL-1.0
// The RemoteWriteTransport with the least rights: code that compiles with it asks for nothing but
// the concept. It cannot be copied or assigned, has no wait(), and does not keep the order of
// bytes. It is the only rank of its group.
#ifndef BOUGH_TESTING_REMOTE_WRITE_ARCHETYPE_HPP
#define BOUGH_TESTING_REMOTE_WRITE_ARCHETYPE_HPP

#include <bough/concepts/remote_write_transport.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::testing {

class remote_write_archetype {
public:
    static constexpr bool keeps_byte_order = false;

    // Pre: the memory is zero, begins on a cache line and outlives the end.
    static remote_write_archetype over(std::span<std::byte> region) { return remote_write_archetype(region); }
    remote_write_archetype(remote_write_archetype&&) = default;
    remote_write_archetype& operator=(remote_write_archetype&&) = delete;

    rank_t rank() const { return 0; }
    rank_t size() const { return 1; }
    std::span<std::byte> region() const { return region_; }
    posted put(rank_t, std::uint64_t, std::span<const std::byte>, std::span<const std::byte>, std::uint64_t) {
        return posted::failed;
    }
    posted flush(rank_t, std::uint64_t) { return posted::failed; }
    std::size_t poll(std::span<event>) { return 0; }
    std::uint64_t now_ns() const { return 0; }

private:
    explicit remote_write_archetype(std::span<std::byte> region) : region_(region) {}
    std::span<std::byte> region_;
};

static_assert(RemoteWriteTransport<remote_write_archetype> && !WaitableRemoteWrites<remote_write_archetype>);

} // namespace bough::testing

#endif
