// SPDX-License-Identifier: BSL-1.0
// A device for messages that does what the test says, and what one rank shares over it.
#ifndef BOUGH_TEST_TRANSPORT_RDMA_SCRIPTED_MESSENGER_HPP
#define BOUGH_TEST_TRANSPORT_RDMA_SCRIPTED_MESSENGER_HPP

#include <bough/transport/fabric/options.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/rank_core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace bough_test {

using bough::detail::fabric_result;

struct scripted_messenger {
    using options_type = bough::fabric_options;
    using memory = std::unique_ptr<int>;
    static constexpr bool tags = true, probes = false, written_uses_receive = false;
    static constexpr std::uint64_t sends = 0, writes_from = 0, receives = 0, is_written = 0;

    struct frame {
        bough::rank_t to;
        bough::detail::fabric_frame head;
        bough::detail::fabric_place place; // if there is one
        bough::detail::fabric_op* op;
    };
    struct piece {
        bough::rank_t to;
        std::size_t bytes;
        std::uint64_t at; // the address or the tag
        bough::detail::fabric_op* op;
        bool tagged = false; // it travels as a tagged message
    };

    fabric_result answer = fabric_result::ok;         // to the next operations
    std::vector<frame> sent;                          // so far
    std::vector<piece> written, asked;                // also as tagged messages
    std::vector<bough::detail::fabric_op*> withdrawn; // receives of tagged messages
    std::deque<bough::detail::fabric_buffer*> posted;
    std::deque<bough::detail::fabric_done> next; // what it says when it is asked
    std::size_t longest_piece = 1000, room_for_receives = 512;
    bool alone = true;

    std::size_t most_sends() const { return 16; }
    std::size_t most_receives() const { return 512; }
    static std::size_t most_injected() { return 0; }
    std::size_t most_bytes() const { return longest_piece; }
    bool sends_alone() const { return alone; }
    static bool opens_files() { return false; }
    bool all_sent() const { return true; }
    bool register_memory(std::span<const std::byte>, std::uint64_t, memory&) { return true; }
    static void* descriptor(const memory&) { return nullptr; }
    static std::uint64_t remote_address(const std::byte*) { return 5000; }
    static std::uint64_t remote_key(const memory&) { return 7; }
    bool receive(bough::detail::fabric_buffer& b, std::size_t) {
        if (posted.size() >= room_for_receives) return false;
        posted.push_back(&b);
        return true;
    }
    fabric_result send(bough::rank_t to, bough::detail::fabric_buffer& b) {
        if (answer != fabric_result::ok) return answer;
        sent.push_back({to, {}, {}, &b.op});
        std::memcpy(&sent.back().head, b.memory, sizeof(bough::detail::fabric_frame));
        if (b.length == sizeof(bough::detail::fabric_frame) + sizeof(bough::detail::fabric_place))
            std::memcpy(&sent.back().place, b.memory + sizeof(bough::detail::fabric_frame), sizeof sent.back().place);
        return fabric_result::ok;
    }
    fabric_result inject(bough::rank_t, std::span<const std::byte>) { return fabric_result::broken; }
    fabric_result write(bough::rank_t to, const bough::detail::fabric_piece& p, std::uint64_t at, std::uint64_t,
                        std::uint32_t) {
        if (answer == fabric_result::ok) written.push_back({to, p.bytes.size(), at, p.op});
        return answer;
    }
    fabric_result send_tagged(bough::rank_t to, const bough::detail::fabric_piece& p, std::uint64_t tag) {
        const fabric_result taken = write(to, p, tag, 0, 0);
        if (taken == fabric_result::ok) written.back().tagged = true;
        return taken;
    }
    bool receive_tagged(bough::rank_t from, std::span<std::byte> into, void*, std::uint64_t tag,
                        bough::detail::fabric_op& op) {
        if (answer == fabric_result::ok) asked.push_back({from, into.size(), tag, &op});
        return answer == fabric_result::ok;
    }
    void cancel(bough::detail::fabric_op& op) { withdrawn.push_back(&op); }
    std::size_t poll(std::span<bough::detail::fabric_done> done) {
        if (next.empty()) return 0;
        done[0] = next.front();
        next.pop_front();
        return 1;
    }
    void disconnect(bough::rank_t) {}
    void close_endpoint() {}
    void abandon() {}
};

// What the parts of rank 0 of three share.
struct lone_rank {
    bough::detail::fabric_rank_core<scripted_messenger> core;
    scripted_messenger& device = *core.device;

    explicit lone_rank(bool writes = true, std::uint32_t window = 4)
        : core(std::make_unique<scripted_messenger>(), options(window), {.size = 3, .job = 9, .writes = writes}) {}

    static bough::fabric_options options(std::uint32_t window) {
        bough::fabric_options o;
        o.window = window;
        o.eager_bytes = 64;
        return o;
    }
    // A frame comes into the buffer that was posted first.
    void hear(bough::rank_t from, std::uint16_t kind, std::uint32_t sequence, std::uint16_t used = 0,
              std::uint32_t job = 9, std::span<const std::byte> body = {}) {
        const bough::detail::fabric_frame head{{}, sequence, job, from, used, kind};
        bough::detail::fabric_buffer& b = *device.posted.front();
        device.posted.pop_front();
        std::memcpy(b.memory, &head, sizeof head);
        if (!body.empty()) std::memcpy(b.memory + sizeof head, body.data(), body.size());
        core.in.received(b.op.index, sizeof head + body.size());
    }
};

} // namespace bough_test

#endif
