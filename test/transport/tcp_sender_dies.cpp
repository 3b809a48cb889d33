// SPDX-License-Identifier: BSL-1.0
// Random messages over one connection, of which the sender may die after any byte. They are written and read in random
// pieces, taken in any order, released, and taken back. What ends well has the right bytes, whatever ends badly has a
// reason, everything ends, and nothing is a protocol error.
//   BOUGH_TEST_ALL=1   2,000 conversations instead of 250
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/tcp_pipe.hpp"
#include <bough/core/random.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/incoming.hpp>
#include <bough/transport/tcp/outgoing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// A socket whose other end is closed.
unique_fd hung_up() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    (void)unique_fd(ends[1]);
    return unique_fd(ends[0]);
}

struct trial {
    struct message {
        std::vector<std::byte> sent, copy{}, got{}; // `sent` is freed when the transport may not read it any more
        std::uint64_t handle = 0;
        bool pending = false, taken_back = false, taking = false, over = false;
    };

    explicit trial(std::uint64_t seed) : random(seed) {
        const std::uint64_t kind = random.below(4);
        cap = kind == 0   ? tcp_chunk::capacity
              : kind == 1 ? tcp_chunk::capacity + 2 * part_bytes
              : kind == 2 ? 2 * tcp_chunk::capacity
                          : 4 << 20;
        window = kind == 3 ? cap / 4 : random.below(2) != 0 ? tcp_chunk::capacity : cap;
        memory = std::make_unique<tcp_memory>(random.below(3) != 0 ? cap : cap + tcp_chunk::capacity);
        out = std::make_unique<tcp_outgoing>(window);
        in = std::make_unique<tcp_incoming>(*memory, 1, cap, window);
        last_byte = random.below(3) != 0 ? size_below(3 * part_bytes) + size_below(100) : ~std::size_t{0};
        many = 5 + size_below(60);
        are_small = random.below(2) != 0;
    }

    std::size_t size_below(std::uint64_t n) { return static_cast<std::size_t>(random.below(n)); }
    std::size_t some_bytes() {
        switch (random.below(7)) {
        case 0: return size_below(5 * part_bytes);
        case 1: return static_cast<std::size_t>(most_short_bytes) + 1 + size_below(100);
        case 2: return static_cast<std::size_t>(part_bytes) * size_below(4);
        case 3: return size_below(most_short_bytes + 1);
        case 4: return static_cast<std::size_t>(part_bytes) + size_below(200);
        default: return are_small ? 0 : size_below(200);
        }
    }
    // One turn of the sender.
    void send() {
        wire.room = random.below(4) == 0 ? size_below(3 * part_bytes) : size_below(2'000);
        wire.room = std::min(wire.room, last_byte - wire.bytes.size());
        if (next != many && random.below(2) != 0) {
            message& m = all[next];
            m.sent.resize(some_bytes(), whole_message); // any byte would do as a verdict
            for (std::size_t i = size_below(8); i < m.sent.size(); i += 1 + size_below(400))
                m.sent[i] = static_cast<std::byte>(random.below(256));
            m.copy = m.sent;
            const posted result = out->post(wire, {.operation = next}, m.sent, next);
            m.pending = result == posted::pending;
            if (result == posted::would_block)
                all.erase(next);
            else
                ++next;
        }
        if (next != 0 && random.below(30) == 0) take_back(static_cast<std::uint32_t>(random.below(next)));
        if (random.below(3) != 0) {
            out->new_turn();
            out->flush(wire, [&](std::uint64_t id) { leaves(all.at(static_cast<std::uint32_t>(id))); });
        }
        REQUIRE(out->handed_over() <= out->accepted());
        if (wire.bytes.size() != last_byte) return;
        is_dead = wire.closed = true;
        wire.descriptor = nobody.get();
    }
    void take_back(std::uint32_t number) {
        message& m = all.at(number);
        if (!m.pending) return;
        bool went_out = false;
        REQUIRE(out->cancel(number, went_out));
        m.taken_back = !went_out;
        if (!went_out) leaves(m);
        m.pending = false;
    }
    static void leaves(message& m) {
        m.pending = false;
        std::vector<std::byte>().swap(m.sent);
    }

    // One turn of the receiver.
    void receive() {
        wire.may_read = random.below(3) == 0   ? ~std::size_t{0}
                        : random.below(5) != 0 ? size_below(3'000)
                                               : size_below(100);
        std::array<event, 8> events;
        bool moved = false;
        const std::size_t found =
            in->ended() ? 0 : in->poll(wire, std::span(events).first(1 + size_below(8)), ends, moved);
        for (const event& e : std::span(events).first(found)) {
            const std::uint32_t number = e.envelope.operation;
            for (; expected != number; ++expected) REQUIRE(all.at(expected).taken_back); // they keep their order
            ++expected;
            message& m = all.at(number);
            REQUIRE(e.bytes == m.copy.size());
            REQUIRE((e.data != nullptr || e.bytes == 0 || e.bytes > most_short_bytes));
            m.handle = e.id;
            kept.push_back(number);
        }
        REQUIRE(in->fault() == errc::ok);
        REQUIRE(memory->used() <= cap + tcp_chunk::capacity + window);
        REQUIRE(out->credit(in->credit()));
        if (in->window().owes_credit() && !is_dead) {
            REQUIRE(out->credit(in->window().used_up()));
            in->window().credit_given();
        }
        while (!ends.empty()) {
            const event e = ends.take();
            message& m = all.at(static_cast<std::uint32_t>(e.id));
            REQUIRE(m.taking);
            end(m, e.code);
        }
        while (!kept.empty() && random.below(3) == 0) {
            const std::size_t which = size_below(kept.size());
            const std::uint32_t number = kept[which];
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(which));
            use(number);
        }
    }
    void use(std::uint32_t number) {
        message& m = all.at(number);
        const tcp_arrival* const a = memory->find(m.handle);
        REQUIRE(a != nullptr);
        const bool is_on_stream = a->at == tcp_arrival::place::stream;
        if (random.below(12) == 0) {
            if (is_on_stream)
                in->release();
            else
                memory->remove(m.handle);
            m.over = true;
            return;
        }
        m.got.assign(m.copy.size(), std::byte{});
        posted result = a->at == tcp_arrival::place::void_ ? posted::failed : posted::complete;
        if (is_on_stream) {
            result = in->take(wire, m.got, number);
        } else if (result == posted::complete) {
            if (!m.got.empty()) std::memcpy(m.got.data(), a->data, m.got.size());
            memory->remove(m.handle);
        }
        m.taking = result == posted::pending;
        if (result == posted::complete) return end(m, errc::ok);
        if (result == posted::failed) {
            memory->remove(m.handle);
            end(m, m.taken_back ? errc::peer_aborted : errc::peer_dead);
        } else if (random.below(15) == 0) {
            REQUIRE(in->cancel(number));
            m.taking = false;
            m.over = true;
            std::vector<std::byte>().swap(m.got);
        }
    }
    void end(message& m, errc code) {
        m.taking = false;
        m.over = true;
        REQUIRE(
            (code == errc::ok || (code == errc::peer_dead && is_dead) || (code == errc::peer_aborted && m.taken_back)));
        if (code == errc::ok) REQUIRE((m.got == m.copy));
    }
    // Nothing more will happen.
    bool is_still() const {
        return is_dead ? in->ended() : next == many && out->idle() && kept.empty() && wire.coming() == 0;
    }

    split_mix random;
    std::uint64_t cap = 0, window = 0;
    std::size_t last_byte = 0, many = 0;
    bool are_small = false, is_dead = false;
    unique_fd nobody = hung_up();
    std::unique_ptr<tcp_memory> memory;
    bough_test::tcp_pipe wire;
    std::unique_ptr<tcp_outgoing> out;
    std::unique_ptr<tcp_incoming> in;
    due_events ends;
    std::map<std::uint32_t, message> all;
    std::vector<std::uint32_t> kept;
    std::uint32_t next = 0, expected = 0;
};

} // namespace

TEST_CASE("tcp: whenever a sender dies, what its messages come to is true") {
    int deaths = 0;
    for (std::uint64_t seed = 1; seed != 2'001; ++seed) {
        if (!bough_test::sampled(seed, 8)) continue;
        CAPTURE(seed, bough_test::seed());
        trial t(seed);
        int still = 0;
        for (int turn = 0; turn != 20'000 && still < 100; ++turn) {
            if (!t.is_dead) t.send();
            t.receive();
            still += t.is_still();
        }
        CAPTURE(t.is_dead, t.next, t.many, t.kept.size(), t.in->ended(), t.in->blocked());
        REQUIRE(still == 100);
        deaths += t.is_dead;
        for (const auto& [number, m] : t.all) {
            CAPTURE(number);
            REQUIRE_FALSE(m.taking);
            if (!t.is_dead) REQUIRE((m.over || m.taken_back));
        }
        due_events last;
        t.in->drop(last);
        CHECK(last.empty());
        for (const std::uint32_t number : t.kept) t.memory->remove(t.all.at(number).handle);
        CHECK((t.memory->used() == 0 && t.memory->arrivals() == 0));
    }
    CHECK(deaths > 10);
}
