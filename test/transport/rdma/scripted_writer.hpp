// SPDX-License-Identifier: BSL-1.0
// A device that writes remotely and does what the test says, also what networks do rarely.
#ifndef BOUGH_TEST_TRANSPORT_RDMA_SCRIPTED_WRITER_HPP
#define BOUGH_TEST_TRANSPORT_RDMA_SCRIPTED_WRITER_HPP

#include <bough/transport/fabric/options.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/region_core.hpp>
#include <bough/transport/rdma/region_words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace bough_test {

// What the test and the device share.
struct network {
    struct write {
        bough::detail::fabric_ticket::what kind;
        std::uint64_t at; // in the target's memory
        bough::detail::fabric_op* op;
        std::uint64_t word = 0; // the first eight bytes, if there are as many
    };
    std::vector<write> written; // by the end, so far
    // Whether the device has done with a write at once; or the test says when.
    std::function<bool(const write&)> goes_out = [](const write&) { return true; };
    std::function<bool(bough::rank_t)> refuses = [](bough::rank_t) { return false; };
    std::function<void()> asked = [] {};         // when the device is about to be
    std::deque<bough::detail::fabric_done> next; // what it says then
};

struct scripted_writer {
    using options_type = bough::fabric_options;
    using memory = std::unique_ptr<int>;
    static constexpr bool probes = false, written_uses_receive = false;
    static constexpr std::uint64_t writes_from = 0, receives = 0, is_written = 0;

    network& net;
    std::size_t longest;

    std::size_t most_sends() const { return 64; }
    std::size_t most_bytes() const { return longest; }
    static bool sends_alone() { return false; }
    static bool opens_files() { return false; }
    bool register_memory(std::span<const std::byte>, std::uint64_t, memory&) { return true; }
    static void* descriptor(const memory&) { return nullptr; }
    static std::uint64_t remote_address(const std::byte*) { return 0; }
    static std::uint64_t remote_key(const memory&) { return 0; }
    bough::detail::fabric_result write(bough::rank_t to, const bough::detail::fabric_piece& piece, std::uint64_t at,
                                       std::uint64_t, std::uint32_t what) {
        if (net.refuses(to)) return bough::detail::fabric_result::full;
        net.written.push_back({bough::detail::fabric_ticket::kind_of(what), at, piece.op});
        if (piece.bytes.size() >= 8) std::memcpy(&net.written.back().word, piece.bytes.data(), 8);
        if (net.goes_out(net.written.back())) net.next.push_back({.op = piece.op});
        return bough::detail::fabric_result::ok;
    }
    std::size_t poll(std::span<bough::detail::fabric_done> done) {
        net.asked();
        const std::size_t n = std::min(done.size(), net.next.size());
        std::copy_n(net.next.begin(), n, done.begin());
        net.next.erase(net.next.begin(), net.next.begin() + static_cast<std::ptrdiff_t>(n));
        return n;
    }
    void disconnect(bough::rank_t) {}
    void close_endpoint() {}
    void abandon() {}
};

// What the parts of rank 0 share.
struct lone_core {
    network net;
    bough::detail::fabric_region_core<scripted_writer> core;

    explicit lone_core(std::size_t longest = 1000, bough::rank_t ranks = 3)
        : core(std::make_unique<scripted_writer>(scripted_writer{net, longest}), options(), {.size = ranks}, 4096) {
        bough::detail::fabric_region_card card;
        if (core.memory.allocate() && core.memory.register_for(*core.device, core.registered))
            card = core.memory.card(*core.device, core.registered);
        core.writes.reach(std::vector(ranks, card));
    }
    static bough::fabric_options options() {
        bough::fabric_options o;
        o.eager_bytes = 64;
        return o;
    }
    // Where the words of a rank lie: one of them lands.
    void lands(bough::rank_t from, bough::detail::fabric_ticket::what kind, std::uint64_t word) {
        std::byte* const first = core.memory.region().data() - core.group.size * 64;
        std::memcpy(first + core.memory.place_of_word(from, kind), &word, sizeof word);
    }
};

} // namespace bough_test

#endif
