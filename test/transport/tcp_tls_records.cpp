// SPDX-License-Identifier: BSL-1.0
// What can still be read of TLS records, however they come in pieces; what hangs on it: who has sent all is not lost;
// and that keys are renewed.
#include "support/catch.hpp"
#include "transport/certificates.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/tcp/tls.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;
using namespace test_tcp;

namespace {

// Records of so much plaintext each, as they travel.
constexpr std::size_t extra = 5 + 1 + 16;
std::vector<std::byte> records_of(std::initializer_list<std::size_t> plain) {
    std::vector<std::byte> bytes;
    for (const std::size_t p : plain) {
        const std::size_t length = p + extra - 5;
        for (const std::size_t b : {std::size_t{23}, std::size_t{3}, std::size_t{3}, length >> 8, length & 255})
            bytes.push_back(static_cast<std::byte>(b));
        bytes.resize(bytes.size() + length);
    }
    return bytes;
}

} // namespace

TEST_CASE("tls_records: what is read off the socket counts with its end, and what lies there as little cut as can be") {
    constexpr std::array<std::size_t, 4> plain{16384, 100, 16384, 1};
    constexpr std::size_t all = 16384 + 100 + 16384 + 1;
    const auto bytes = records_of({plain[0], plain[1], plain[2], plain[3]});
    for (const std::size_t piece : {1u, 3u, 5u, 1000u, 50'000u}) {
        CAPTURE(piece);
        tls_records records;
        records.begin(16);
        bool right = true;
        for (std::size_t at = 0; at != bytes.size();) {
            const std::size_t some = std::min(piece, bytes.size() - at);
            records.came(std::span(bytes).subspan(at, some));
            at += some;
            std::size_t due = 0, end = 0; // of the records that have come whole
            for (const std::size_t p : plain)
                if ((end += p + extra) <= at) due += p;
            right &= records.readable(0) == due;
            // With all the rest; of those at the socket two are not full.
            const std::uint64_t most = records.readable(bytes.size() - at);
            right &= most >= all && most <= all + 2 * extra;
        }
        CHECK(right);
        records.read(16384);
        CHECK(records.readable(0) == all - 16384);
        records.read(6000);
        CHECK(records.readable(extra) == all - 22'384);
        CHECK(records.readable(extra + 1) == all - 22'383);
        records.all_read();
        CHECK(records.readable(0) == 0);
    }
}

TEST_CASE("tls_records: a record that is cut short gives nothing") {
    const auto bytes = records_of({16384});
    tls_records records;
    records.begin(16);
    records.came(std::span(bytes).first(7));
    CHECK(records.readable(bytes.size() - 7 - 1) == 0);
    CHECK(records.readable(bytes.size() - 7) == 16384);
    CHECK(records.readable(2 * bytes.size() - 7) == 2 * 16384);
    // Shorter tags leave more.
    records.begin(8);
    CHECK(records.readable(bytes.size() - 7) == 16384 + 8);
}

namespace {

// Polls `link`, which has a look now and then, until `over(event)` or it has been polled enough.
template <class Over>
bool poll_until(tcp_tls& link, double most_ms, const Over& over) {
    std::array<event, 8> events;
    for (const auto begin = clock_type::now(); ms_since(begin) < most_ms;) {
        const std::size_t n = link.poll(events);
        for (std::size_t i = 0; i != n; ++i)
            if (over(events[i])) return true;
        if (n == 0) std::this_thread::yield();
    }
    return false;
}

bool is_lost(const event& e) { return e.what == event::kind::lost; }

// Two ranks of one system, of which one keeps little. The second of two long messages, of this length, has to wait in
// the socket and in TLS when its sender leaves. f(receiver, taken)
template <class F>
void after_its_sender(std::size_t length, const F& f) {
    tcp_options options;
    options.linger_ns = length > (1 << 20) ? 0 : 20'000'000'000;
    options.tls = authority().issue();
    options.unexpected_bytes_per_peer = options.unexpected_bytes = 256 << 10;
    auto ends = ends_of<tcp_tls>(2, options);
    const auto is_complete = [](std::uint64_t id) {
        return [id](const event& e) { return e.what == event::kind::complete && e.id == id && e.code == errc::ok; };
    };
    const auto is_done = [&](tcp_tls& link, posted p, std::uint64_t id) {
        return p == posted::complete || (p == posted::pending && poll_until(link, 20'000, is_complete(id)));
    };
    event arrival;
    const auto arrived = [&] {
        return poll_until(ends[1], 20'000, [&](const event& e) {
            arrival = e;
            return e.what == event::kind::arrived;
        });
    };
    const auto taken = [&](const std::vector<std::byte>& due) {
        std::vector<std::byte> into(static_cast<std::size_t>(arrival.bytes));
        return is_done(ends[1], ends[1].take(arrival.id, into, 2), 2) && into == due;
    };
    // After a long message only the header of the next is looked for.
    const std::vector<std::byte> first(20'000, std::byte{1}), second(length, std::byte{2});
    REQUIRE(is_done(ends[0], ends[0].post_send(1, {}, first, 1), 1));
    REQUIRE(arrived());
    REQUIRE(taken(first));
    const posted p = ends[0].post_send(1, {}, second, 3);
    REQUIRE((length > (1 << 20) ? p == posted::pending : is_done(ends[0], p, 3)));
    { const tcp_tls gone = std::move(ends[0]); }
    REQUIRE(arrived());
    f(ends[1], [&] { return taken(second); });
}

} // namespace

TEST_CASE("tcp_stream, tls_channel: where the socket cannot tell, more is coming than any message has") {
    boost::asio::io_context io;
    const auto opened = [&io] {
        tcp_stream::socket_type made(io);
        made.assign({AF_INET, IPPROTO_TCP}, open_socket(AF_INET).release());
        return made;
    };
    tcp_stream plain{opened()};
    tls_settings settings;
    REQUIRE_FALSE(settings.load(authority().issue()));
    auto tls = tls_channel::make_stream(opened(), tls_channel::session(settings, io, -1, false));
    plain.socket().close();
    tls.socket().close();
    for (const std::uint64_t coming : {plain.coming(), tls.coming()}) {
        CHECK(coming > most_frame_bytes + most_tail_bytes);
        CHECK(coming + tcp_chunk::capacity > coming);
    }
}

#ifdef __linux__ // over TCP it would wait on its sender's side
TEST_CASE("tcp_tls: a long message that has come whole outlives its sender") {
    after_its_sender(200 << 10, [](tcp_tls& receiver, const auto& taken) {
        bool lost = false;
        std::array<event, 8> events;
        for (int i = 0; i != 1000; ++i)
            for (std::size_t n = receiver.poll(events); n-- != 0;) lost |= is_lost(events[n]);
        CHECK_FALSE(lost);
        CHECK(taken());
        CHECK(poll_until(receiver, 20'000, is_lost));
    });
}

TEST_CASE("tcp_tls: a long message whose rest can never come is lost with its sender") {
    after_its_sender(64 << 20, [](tcp_tls& receiver, const auto& taken) {
        CHECK(poll_until(receiver, 20'000, is_lost));
        CHECK_FALSE(taken());
    });
}
#endif

// --- New keys ----------------------------------------------------------------------------------------------------------

namespace {

std::atomic<int> key_updates{0};

// A key is good for three records.
struct hasty_channel : tls_channel {
    struct settings : tls_settings {
        status load(const tls_options& tls) {
            records_per_key = 3;
            if (const status bad = tls_settings::load(tls)) return bad;
            SSL_CTX_set_msg_callback(context().native_handle(),
                                     [](int written, int, int type, const void* bytes, std::size_t n, SSL*, void*) {
                                         if (written == 1 && type == SSL3_RT_HANDSHAKE && n != 0 &&
                                             *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE)
                                             ++key_updates;
                                     });
            return {};
        }
    };
};
using hasty_tls = basic_tcp<openssl_mac, hasty_channel>;

} // namespace

TEST_CASE("tcp_tls: a sender takes a new key after so many records, and nothing is lost by it") {
    tcp_options options;
    options.tls = authority().issue();
    key_updates = 0;
    {
        auto ends = ends_of<hasty_tls>(2, options); // its handshake: at most two records a side
        std::array<event, 8> events;
        for (int i = 0; i != 100; ++i)
            for (const std::size_t from : {0u, 1u}) {
                const std::byte byte{static_cast<unsigned char>(i)};
                REQUIRE(ends[from].post_send(static_cast<rank_t>(1 - from), {}, {&byte, 1}, 1) == posted::complete);
                std::size_t n = 0;
                for (const auto begin = clock_type::now(); n == 0 && ms_since(begin) < 20'000;)
                    n = ends[1 - from].poll(events);
                REQUIRE(n == 1);
                CHECK(*events[0].data == byte);
                ends[1 - from].release(events[0].id);
            }
    }
    CHECK(key_updates >= 2 * 33); // 100 records a side, and those of the handshake
    CHECK(key_updates <= 2 * 34);
    const auto fault = testing::check_transport([&](rank_t n) { return ends_of<hasty_tls>(n, options); },
                                                {.messages = 300u, .longest = std::size_t{1} << 20});
    CAPTURE(fault.sentence, fault.rank);
    CHECK(fault.rule == testing::transport_rule::none);
}
