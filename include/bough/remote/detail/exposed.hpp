// SPDX-License-Identifier: BSL-1.0
// A table of the memory that a rank has exposed to puts (W11 of a RemoteWriteTransport), for
// transports in which the library itself keeps that account. It finds memory by key; the key of
// concealed memory finds nothing.
#ifndef BOUGH_REMOTE_DETAIL_EXPOSED_HPP
#define BOUGH_REMOTE_DETAIL_EXPOSED_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/ignore_exceptions.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_exposed_memory {
public:
    // The result has no key if `memory` is empty, or if there is no memory for the entry.
    exposure expose(std::span<std::byte> memory) noexcept {
        if (memory.empty()) return {};
        if (free_.empty() && !grow()) return {};
        const std::uint32_t i = free_.back();
        free_.pop_back();
        entries_[i].memory = memory;
        ++entries_[i].generation;
        return {address_of(memory), key_of(i)};
    }
    // Does nothing if the memory is not exposed.
    void conceal(const exposure& e) noexcept {
        if (hide(e)) forget(e);
    }
    // The same in two steps, for callers that must wait between them. After hide() the key finds
    // nothing; after forget() the entry may be used for other memory. False: the memory is not
    // exposed.
    bool hide(const exposure& e) noexcept {
        if (find(e.key) == nullptr) return false;
        entries_[index_of(e)].memory = {};
        return true;
    }
    void forget(const exposure& e) noexcept { free_.push_back(index_of(e)); } // grow() has made room for it
    // The number of the entry. No two pieces of memory that are exposed have the same.
    static constexpr std::uint32_t index_of(const exposure& e) noexcept { return static_cast<std::uint32_t>(e.key); }
    // Where a put of `bytes` to that place goes; nullptr: not all of them lie in exposed memory.
    std::byte* find(const exposure& at, std::size_t bytes) const noexcept {
        const entry* e = find(at.key);
        if (e == nullptr) return nullptr;
        const std::uint64_t offset = at.place - address_of(e->memory);
        if (offset > e->memory.size() || bytes > e->memory.size() - offset) return nullptr;
        return e->memory.data() + offset;
    }
    // The exposure of an entry; without a key if the entry is free.
    exposure at(std::uint32_t index) const noexcept {
        return entries_[index].memory.empty() ? exposure{}
                                              : exposure{address_of(entries_[index].memory), key_of(index)};
    }
    std::uint32_t entries() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }
    void conceal_all() noexcept {
        for (std::uint32_t i = 0; i != entries_.size(); ++i) conceal(at(i));
    }
    // How many pieces of memory are exposed.
    std::size_t size() const noexcept { return entries_.size() - free_.size(); }

private:
    struct entry {
        std::span<std::byte> memory;  // empty: the entry is free
        std::uint32_t generation = 0; // part of the key, so that an old key finds nothing
    };

    static std::uint64_t address_of(std::span<std::byte> memory) noexcept {
        return reinterpret_cast<std::uintptr_t>(memory.data());
    }
    std::uint64_t key_of(std::uint32_t i) const noexcept { return std::uint64_t{entries_[i].generation} << 32 | i; }
    const entry* find(std::uint64_t key) const noexcept {
        const auto i = static_cast<std::uint32_t>(key);
        return i < entries_.size() && !entries_[i].memory.empty() && key_of(i) == key ? &entries_[i] : nullptr;
    }
    bool grow() noexcept {
        const std::size_t before = entries_.size();
        ignore_exceptions([this] {
            free_.reserve(entries_.size() + 1);
            entries_.emplace_back();
            free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
        });
        return entries_.size() != before;
    }

    std::vector<entry> entries_;
    std::vector<std::uint32_t> free_;
};
using exposed_memory = basic_exposed_memory<0>;

} // namespace bough::detail

#endif
