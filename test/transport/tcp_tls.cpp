// SPDX-License-Identifier: BSL-1.0
// tcp inside TLS: the same transport; and whoever has not the right certificate, or speaks no TLS 1.3, stays outside.
#include "support/catch.hpp"
#include "support/process_collectives.hpp"
#include "support/sample.hpp"
#include "transport/certificates.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/tcp/tls.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace bough;
using namespace bough::detail;
using namespace test_tcp;

static_assert(explain_transport<tcp_tls>() && explain_waitable_transport<tcp_tls>());

namespace {

tcp_options options_of(const tls_options& tls) {
    tcp_options options;
    options.tls = tls;
    return options;
}

} // namespace

TEST_CASE("tcp_tls: keeps the rules of a transport") {
    const tcp_options options = options_of(authority().issue());
    for (const rank_t ranks : {2u, 5u}) {
        const auto fault = testing::check_transport([&](rank_t n) { return ends_of<tcp_tls>(n, options); },
                                                    {.ranks = ranks, .messages = bough_test::all() ? 50'000u : 2'000u});
        CAPTURE(ranks, fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}

TEST_CASE("tcp_tls: keeps them where long messages fill the sockets, and where memory is scarce") {
    tcp_options options = options_of(authority().issue());
    options.unexpected_bytes_per_peer = options.unexpected_bytes = 256 << 10;
    options.socket_bytes = 16 << 10;
    const auto fault =
        testing::check_transport([&](rank_t n) { return ends_of<tcp_tls>(n, options); },
                                 {.messages = bough_test::all() ? 10'000u : 300u, .longest = std::size_t{2} << 20});
    CAPTURE(fault.sentence, fault.rank);
    CHECK(fault.rule == testing::transport_rule::none);
}

TEST_CASE("tcp_tls: collectives give the right result, all pairs connected or lazily") {
    tcp_options options = options_of(authority().issue());
    for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u})
        for (const rank_t eager : {128u, 1u}) {
            if (eager == 1 && ranks == 1) continue;
            options.eager_mesh = eager;
            std::atomic<int> wrong{0};
            run_threads<tcp_tls>(ranks, options, [&](tcp_tls link) {
                communicator comm{std::move(link)};
                wrong += bough_test::wrong_collectives(comm, {0, 1, 100, 3000, 20'001});
            });
            CAPTURE(ranks, eager);
            CHECK(wrong == 0);
        }
}

// A turn reads a part of a message. What TLS has read behind it lies in no socket any more.
TEST_CASE("tcp_tls: a receiver that sleeps between its polls reads messages of any length to their ends") {
    auto ends = ends_of<tcp_tls>(2, options_of(authority().issue()));
    for (std::size_t bytes = most_short_bytes + 1; bytes < 3 * part_bytes; bytes += bough_test::all() ? 100 : 1'999) {
        CAPTURE(bytes);
        const std::vector<std::byte> from(bytes, static_cast<std::byte>(bytes % 251));
        std::vector<std::byte> into(bytes);
        std::array<event, 4> events;
        const auto begin = clock_type::now();
        const auto is_late = [&] { return ms_since(begin) > 10'000; };
        bool taken = false;
        posted result = posted::would_block;
        while (result == posted::would_block && !is_late()) {
            ends[0].poll(events);
            result = ends[0].post_send(1, {}, from, 1);
        }
        for (bool sent = result == posted::complete; !is_late() && (!sent || ends[0].unsent());)
            sent |= ends[0].poll(events) != 0;
        REQUIRE_FALSE(is_late()); // all of it is in the kernel
        while (!taken && !is_late()) {
            if (ends[1].poll(events) == 0)
                ends[1].wait(~0u, steady_now_ns() + 1'000'000'000);
            else if (events[0].what == event::kind::arrived)
                taken = ends[1].take(events[0].id, into, 2) == posted::complete;
            else
                taken = events[0].what == event::kind::complete && events[0].code == errc::ok;
        }
        REQUIRE(taken);
        REQUIRE(into == from);
    }
}

TEST_CASE("tcp_tls: nothing that is sent can be read on the way") {
    auto ends = ends_of<tcp_tls>(2, options_of(authority().issue()));
    const std::string secret = "nobody else should read this, and nobody does";
    REQUIRE(ends[0].post_send(1, {}, std::as_bytes(std::span(secret)), 1) == posted::complete);
    // What lies in the socket of the other side, of which two there are in this process.
    bool found = false, something = false;
    for (int d = 3; d != 256; ++d) {
        std::array<char, 4096> seen{};
        const ssize_t n = ::recv(d, seen.data(), seen.size(), MSG_PEEK | MSG_DONTWAIT);
        if (n <= 0) continue;
        something = true;
        found |= std::string_view(seen.data(), static_cast<std::size_t>(n)).find(secret) != std::string_view::npos;
    }
    CHECK(something);
    CHECK_FALSE(found);
    std::array<event, 4> events;
    std::size_t n = 0;
    for (const auto begin = clock_type::now(); n == 0 && ms_since(begin) < 10'000;) n = ends[1].poll(events);
    REQUIRE(n == 1);
    CHECK(std::string(reinterpret_cast<const char*>(events[0].data), static_cast<std::size_t>(events[0].bytes)) ==
          secret);
}

TEST_CASE("tcp_tls: certificates come from files as well") {
    const auto folder = std::filesystem::temp_directory_path() / ("bough-tls-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const tls_options text = authority().issue();
    tls_options files{(folder / "rank.pem").string(), (folder / "rank.key").string(), (folder / "ca.pem").string()};
    std::ofstream(files.certificate) << text.certificate;
    std::ofstream(files.key) << text.key;
    std::ofstream(files.authorities) << text.authorities;
    CHECK(ends_of<tcp_tls>(2, options_of(files)).size() == 2);
    std::filesystem::remove_all(folder);
}

TEST_CASE("tcp_tls: want of memory says nothing of a certificate") {
    for (const int code : {X509_V_ERR_OUT_OF_MEM, X509_V_ERR_UNSPECIFIED, X509_V_OK})
        CHECK(certificate_fault(code, 0).code == errc::no_resources);
    for (const int code : {X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY})
        CHECK(certificate_fault(code, 0).code == errc::invalid_argument);
}
TEST_CASE("tcp_tls: what cannot be used is named") {
    const authority ours, others;
    const tls_options right = ours.issue();
    const auto told = [](const tls_options& tls) {
        testing::thread_wire_up world{1};
        auto wire = world.of(0);
        status s;
        CHECK_FALSE(tcp_tls::join(wire, options_of(tls), s));
        CHECK(s.code == errc::invalid_argument);
        return std::string(s.argument != nullptr ? s.argument : "");
    };
    CHECK(told({}) == "tls.certificate: is not set");
    tls_options bad = right;
    bad.key = "";
    CHECK(told(bad) == "tls.key: is not set");
    bad.key = ours.issue().key;
    CHECK(told(bad) == "tls.key: is not that of tls.certificate, or cannot be read as PEM");
    bad = right;
    bad.authorities = "";
    CHECK(told(bad) == "tls.authorities: are not set");
    bad.authorities = "/nowhere";
    CHECK(told(bad) == "tls.authorities: cannot be read as PEM");
    bad = right;
    bad.certificate = "/nowhere";
    CHECK(told(bad) == "tls.certificate: cannot be read as PEM");
    bad = right;
    bad.authorities = others.pem();
    CHECK(told(bad) == "tls.certificate: tls.authorities do not vouch for it now");
    CHECK(told(ours.issue("rank", -7200, -3600)) == "tls.certificate: tls.authorities do not vouch for it now");
    CHECK(told(ours.issue("rank", 3600, 7200)) == "tls.certificate: tls.authorities do not vouch for it now");
    // A rank calls on some of the others, and accepts others.
    for (const char* const half : {"serverAuth", "clientAuth"}) {
        CHECK(told(ours.issue("rank", -3600, 3600, half)) ==
              "tls.certificate: its (extended) key usage must allow clients and servers");
        CHECK(told(authority("of a half", half).issue()) ==
              "tls.certificate: the (extended) key usage of who vouches for it must allow clients and servers");
    }
    CHECK(ends_of<tcp_tls>(2, options_of(ours.issue("rank", -3600, 3600, "serverAuth,clientAuth"))).size() == 2);
    // And plain tcp does not pretend.
    testing::thread_wire_up world{1};
    auto wire = world.of(0);
    status s;
    CHECK_FALSE(tcp::join(wire, options_of(right), s));
    CHECK(s.code == errc::invalid_argument);
    REQUIRE(s.argument != nullptr);
    CHECK(std::string(s.argument) == "tls: needs bough::tcp_tls, of bough/transport/tcp/tls.hpp");
}

#ifdef __linux__
namespace {

// How often a text is in the memory of this process. It is given with every last bit turned over, so as not to be found
// here.
__attribute__((no_sanitize("address", "thread", "undefined"))) int copies_in_memory(std::span<const char> turned_over) {
    const char* const sought = turned_over.data();
    const std::size_t length = turned_over.size();
    int found = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string entry; std::getline(maps, entry);) {
        unsigned long long first = 0, last = 0;
        std::array<char, 5> rights{};
        if (std::sscanf(entry.c_str(), "%llx-%llx %4s", &first, &last, rights.data()) != 3) continue;
        if (std::string_view(rights.data()) != "rw-p" || last - first > (1u << 26)) continue;
        const char* const end = reinterpret_cast<const char*>(last) - length;
        for (const char* at = reinterpret_cast<const char*>(first); at <= end; ++at) {
            std::size_t same = 0;
            while (same != length && (at[same] ^ 1) == sought[same]) ++same;
            found += same == length;
        }
    }
    return found;
}

} // namespace

TEST_CASE("tcp_tls: no copy is kept of the text of a private key") {
    tcp_options options = options_of(authority().issue());
    // A line that is nowhere else, above the key, where PEM allows it.
    std::array<char, 24> line{};
    std::string text;
    text.reserve(4096);
    for (std::size_t i = 0; i != line.size(); ++i) {
        text += static_cast<char>('a' + (i * 7 + 3) % 26);
        line[i] = static_cast<char>(text.back() ^ 1);
    }
    text += '\n';
    text += options.tls.key;
    options.tls.key = std::move(text);
    const int before = copies_in_memory(line);
    if (before != 1) { // a sanitizer has memory of its own way
        WARN("the memory of this process cannot be looked through: " << before);
        return;
    }
    const auto ends = ends_of<tcp_tls>(2, options);
    CHECK(copies_in_memory(line) == 1);
}
#endif

// --- Who stays outside -------------------------------------------------------------------------------------------------

namespace {

// Both ranks of a group, each with its own certificate; how it ended for each, and after how long. If they cannot meet
// that is the whole time.
struct meeting {
    std::array<status, 2> results;
    double ms = 0;
};
meeting meet(const tls_options& zero, const tls_options& one, std::uint64_t timeout_ns) {
    testing::thread_wire_up world{2};
    meeting m;
    const auto begin = clock_type::now();
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != 2; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            tcp_options options = options_of(r == 0 ? zero : one);
            options.timeout_ns = timeout_ns;
            (void)tcp_tls::join(wire, options, m.results[r]);
        });
    for (std::thread& t : threads) t.join();
    m.ms = ms_since(begin);
    return m;
}

constexpr std::uint64_t long_time = 300'000'000'000; // nobody waits for it

namespace ssl = boost::asio::ssl;
namespace ip = boost::asio::ip;

// Somebody at the door of rank 0, whose group of two meets in spite of it. `say(socket, hosts)`: whether it was shown out.
template <class Say>
std::uint64_t group_in_spite_of(const tls_options& tls, const Say& say) {
    const tcp_hosts hosts = hosts_of(2);
    std::array<status, 2> results;
    std::uint64_t turned_away = 0;
    const auto join = [&](rank_t r) {
        tcp_hosts mine = hosts;
        mine.rank = r;
        auto link = tcp_tls::join(mine, options_of(tls), results[r]);
        if (!link) return;
        if (r == 0) turned_away = link->strangers_turned_away();
        communicator comm{std::move(*link)};
        barrier(comm, results[r]);
    };
    std::thread zero([&] { join(0); });
    bool shown_out = false;
    const auto begin = clock_type::now();
    {
        boost::asio::io_context io;
        ip::tcp::socket socket(io);
        boost::system::error_code error;
        for (int i = 0; i != 2000; ++i) {
            socket = ip::tcp::socket(io);
            if (!socket.connect({ip::make_address(hosts.hosts[0].address), hosts.hosts[0].port}, error)) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        const timeval limit{10, 0};
        ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        shown_out = say(socket, hosts);
    }
    CHECK(shown_out);
    CHECK(ms_since(begin) < 9000);
    std::thread one([&] { join(1); });
    zero.join();
    one.join();
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
    return turned_away;
}

// The other side has ended the connection, whatever it said about it before.
bool is_over(ip::tcp::socket& socket) {
    boost::system::error_code error;
    std::array<char, 1024> said{};
    while (!error) socket.read_some(boost::asio::buffer(said), error);
    return error != boost::asio::error::would_block && error != boost::asio::error::try_again;
}

// A client of TLS with these certificates, or none, whose handshake fails or whose first reading tells it why it may not
// come in.
bool is_refused(ip::tcp::socket& socket, ssl::context::method method, const tls_options* tls, std::string& why) {
    ssl::context context(method);
    context.set_verify_mode(ssl::verify_none);
    if (tls != nullptr) {
        context.use_certificate_chain(boost::asio::buffer(tls->certificate));
        context.use_private_key(boost::asio::buffer(tls->key), ssl::context::pem);
    }
    ssl::stream<ip::tcp::socket&> stream(socket, context);
    boost::system::error_code error;
    stream.handshake(ssl::stream_base::client, error);
    std::array<char, greeting_bytes> greeting{};
    if (!error) boost::asio::read(stream, boost::asio::buffer(greeting), error);
    why = error.message();
    return error && error != boost::asio::error::would_block && error != boost::asio::error::try_again;
}

} // namespace

TEST_CASE("tcp_tls: ranks that different authorities vouch for do not meet, and are told in time") {
    const authority ours, others;
    const meeting m = meet(ours.issue(), others.issue(), long_time);
    for (rank_t r = 0; r != 2; ++r) CHECK(m.results[r].peer == 1 - r);
    CHECK(m.results[1].code == errc::protocol_error); // who calls knows whom it has called
    CHECK(m.results[0].code == errc::peer_aborted);   // who is called is told
    CHECK(m.results[0].cause == errc::protocol_error);
    CHECK(m.ms < 20'000);
}

TEST_CASE("tcp_tls: a name that the peers' certificates must have") {
    const authority ours;
    tls_options named = ours.issue("cluster");
    named.name = "cluster";
    CHECK_FALSE(meet(named, named, 30'000'000'000).results[0]);
    const meeting m = meet(named, ours.issue("somebody"), long_time);
    CHECK(m.results[0].cause == errc::protocol_error);
    CHECK(m.results[1].code == errc::protocol_error);
}

TEST_CASE("tcp_tls: strangers are turned away before anything is said to them") {
    const authority ours, others("somebody else's");
    const tls_options right = ours.issue();
    std::string why;
    SECTION("one that speaks plain tcp, and has the key") {
        CHECK(group_in_spite_of(right, [](ip::tcp::socket& socket, const tcp_hosts&) {
                  proof_message proof{};
                  job_key key;
                  key.bytes()[0] = std::byte{42};
                  const bool made = make_proof<openssl_mac>(key, {.size = 2, .from = 1, .to = 0}, {}, {}, proof);
                  boost::system::error_code error;
                  boost::asio::write(socket, boost::asio::buffer(proof.data(), proof.size()), error);
                  return made && is_over(socket);
              }) == 1);
    }
    SECTION("one without a certificate") {
        CHECK(group_in_spite_of(right, [&](ip::tcp::socket& socket, const tcp_hosts&) {
                  return is_refused(socket, ssl::context::tlsv13_client, nullptr, why);
              }) == 1);
        CAPTURE(why);
        CHECK(why.find("certificate required") != std::string::npos);
    }
    SECTION("one of another authority") {
        const tls_options wrong = others.issue();
        CHECK(group_in_spite_of(right, [&](ip::tcp::socket& socket, const tcp_hosts&) {
                  return is_refused(socket, ssl::context::tlsv13_client, &wrong, why);
              }) == 1);
        CAPTURE(why);
        CHECK(why.find("unknown ca") != std::string::npos);
    }
    SECTION("one whose certificate has expired") {
        const tls_options old = ours.issue("rank", -7200, -3600);
        CHECK(group_in_spite_of(right, [&](ip::tcp::socket& socket, const tcp_hosts&) {
                  return is_refused(socket, ssl::context::tlsv13_client, &old, why);
              }) == 1);
        CAPTURE(why);
        CHECK(why.find("expired") != std::string::npos);
    }
    SECTION("one that speaks TLS 1.2 at most") {
        CHECK(group_in_spite_of(right, [&](ip::tcp::socket& socket, const tcp_hosts&) {
                  return is_refused(socket, ssl::context::tlsv12_client, &right, why);
              }) == 1);
        CAPTURE(why);
        CHECK(why.find("protocol version") != std::string::npos);
    }
    SECTION("one with the right certificate, and a proof that was made for another connection") {
        CHECK(group_in_spite_of(right, [&](ip::tcp::socket& socket, const tcp_hosts& hosts) {
                  ssl::context context(ssl::context::tlsv13_client);
                  context.use_certificate_chain(boost::asio::buffer(right.certificate));
                  context.use_private_key(boost::asio::buffer(right.key), ssl::context::pem);
                  ssl::stream<ip::tcp::socket&> stream(socket, context);
                  boost::system::error_code error;
                  stream.handshake(ssl::stream_base::client, error);
                  greeting_message greeting{};
                  nonce accepting{};
                  proof_message proof{};
                  boost::asio::read(stream, boost::asio::buffer(greeting.data(), greeting.size()), error);
                  const bool heard = !error && read_greeting(greeting, accepting);
                  // Made with the key, as for another connection: by a rank whose words this one hands on.
                  const introduction who{.job = job_of(hosts), .size = 2, .from = 1, .to = 0};
                  make_proof<openssl_mac>(hosts.key, who, accepting, {}, proof);
                  boost::asio::write(stream, boost::asio::buffer(proof.data(), proof.size()), error);
                  return heard && is_over(socket);
              }) == 1);
    }
    SECTION("one that is silent") {
        CHECK(group_in_spite_of(right, [](ip::tcp::socket& socket, const tcp_hosts&) { return is_over(socket); }) == 1);
    }
}
