// SPDX-License-Identifier: BSL-1.0
// simulated_messages: the memory of all messages in a simulated world, and their handles.
#ifndef BOUGH_TRANSPORT_VIRTUAL_NETWORK_MESSAGES_HPP
#define BOUGH_TRANSPORT_VIRTUAL_NETWORK_MESSAGES_HPP

#include <bough/core/rank.hpp>
#include <bough/transport/virtual_network/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_simulated_messages {
public:
    // Frees all; memory is kept.
    void clear() {
        free_.clear();
        for (std::uint32_t i = 0; i != all_.size(); ++i) all_[i].where = simulated_place::free, free_.push_back(i);
    }

    // Takes a place for a new message. Its former values are still there.
    std::uint32_t make() {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(all_.size()));
            all_.emplace_back();
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        all_[index].generation = (all_[index].generation + 1) & 0x7fff'ffffu;
        return index;
    }
    // Frees a message. Whoever still reads its payload reads wrong bytes.
    void free(simulated_message& m) {
        std::fill(m.copy.begin(), m.copy.end(), std::byte{0xee});
        m.where = simulated_place::free;
        free_.push_back(static_cast<std::uint32_t>(&m - all_.data()));
    }

    simulated_message& operator[](std::uint64_t index) noexcept { return all_[static_cast<std::size_t>(index)]; }
    std::uint64_t handle_of(std::uint32_t index) const noexcept {
        return std::uint64_t{all_[index].generation} << 32 | index;
    }
    static std::uint32_t index_of(std::uint64_t handle) noexcept { return static_cast<std::uint32_t>(handle); }
    // The message of a handle, if `r` has seen it and neither released nor taken it; otherwise null.
    simulated_message* find(rank_t r, std::uint64_t handle) noexcept {
        if (index_of(handle) >= all_.size()) return nullptr;
        simulated_message& m = all_[index_of(handle)];
        return m.where == simulated_place::seen && m.to == r && m.generation == handle >> 32 ? &m : nullptr;
    }

    // How many `r` has seen and neither released nor taken.
    std::size_t seen_by(rank_t r) const noexcept {
        return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [r](const simulated_message& m) {
            return m.where == simulated_place::seen && m.to == r;
        }));
    }
    // How many are under way between two ranks.
    std::uint32_t flying(rank_t from, rank_t to) const noexcept {
        return static_cast<std::uint32_t>(std::count_if(all_.begin(), all_.end(), [=](const simulated_message& m) {
            return m.where == simulated_place::flying && m.from == from && m.to == to;
        }));
    }
    // How many there are on each edge: from * ranks + to.
    const std::vector<std::uint32_t>& on_edges(rank_t ranks) {
        on_edges_.assign(std::size_t{ranks} * ranks, 0);
        for (const simulated_message& m : all_)
            if (m.where != simulated_place::free) ++on_edges_[std::size_t{m.from} * ranks + m.to];
        return on_edges_;
    }

    // Also those that are free.
    auto begin() noexcept { return all_.begin(); }
    auto end() noexcept { return all_.end(); }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

private:
    std::vector<simulated_message> all_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> on_edges_; // memory for on_edges()
};
using simulated_messages = basic_simulated_messages<0>;

} // namespace bough::detail

#endif
