// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/hosts.hpp>
#include <bough/transport/tcp/openssl_mac.hpp>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace bough;
using namespace bough::detail;

namespace {

using mac = openssl_mac;

job_key key_of(unsigned char first) {
    job_key::bytes_type bytes{};
    bytes[0] = static_cast<std::byte>(first);
    return job_key(bytes);
}
nonce nonce_of(unsigned char first) {
    nonce n{};
    n[31] = static_cast<std::byte>(first);
    return n;
}

const introduction pair{.job = 0x1122334455667788, .size = 8, .from = 5, .to = 2};

proof_message proof_of(const introduction& who, const job_key& key, const nonce& accepting) {
    proof_message m{};
    REQUIRE(make_proof<mac>(key, who, accepting, nonce_of(9), m));
    return m;
}
bool is_proof(const proof_message& m, const job_key& key = key_of(1), const nonce& accepting = nonce_of(3),
              const introduction& mine = {.job = pair.job, .size = 8, .from = no_rank, .to = 2}) {
    introduction who;
    nonce connecting{};
    return check_proof<mac>(key, mine, accepting, m, who, connecting);
}

struct temporary_file {
    std::string path = "/tmp/bough-key-XXXXXX";
    explicit temporary_file(const std::string& text, mode_t mode) {
        const int d = ::mkstemp(path.data());
        REQUIRE(::write(d, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
        ::fchmod(d, mode);
        ::close(d);
    }
    ~temporary_file() { ::unlink(path.c_str()); }
};

} // namespace

TEST_CASE("openssl_mac: is HMAC-SHA256") {
    // RFC 4231 has keys of other lengths; this one is test case 2 with its key padded with zeros, which changes nothing.
    job_key::bytes_type key{};
    std::memcpy(key.data(), "Jefe", 4);
    std::array<std::byte, 32> tag{};
    const std::string text = "what do ya want for nothing?";
    REQUIRE(mac::authenticate(key, std::as_bytes(std::span(text)), tag));
    constexpr std::array<unsigned char, 32> expected{0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
                                                     0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
                                                     0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    CHECK(std::memcmp(tag.data(), expected.data(), 32) == 0);
    CHECK(mac::equal(tag, tag));
    auto other = tag;
    other[31] ^= std::byte{1};
    CHECK_FALSE(mac::equal(tag, other));
}

TEST_CASE("tcp_handshake: a proof is one for its pair, job, key and greeting, and for nothing else") {
    const proof_message right = proof_of(pair, key_of(1), nonce_of(3));
    CHECK(is_proof(right));
    introduction who;
    nonce connecting{};
    REQUIRE(check_proof<mac>(key_of(1), {.job = pair.job, .size = 8, .from = no_rank, .to = 2}, nonce_of(3), right, who,
                             connecting));
    CHECK(who == pair);
    CHECK(connecting == nonce_of(9));
    CHECK_FALSE(is_proof(right, key_of(2)));
    CHECK_FALSE(is_proof(right, key_of(1), nonce_of(4))); // a replay: every greeting has another nonce
    CHECK_FALSE(is_proof(right, key_of(1), nonce_of(3), {.job = 1, .size = 8, .from = no_rank, .to = 2}));
    CHECK_FALSE(is_proof(right, key_of(1), nonce_of(3), {.job = pair.job, .size = 9, .from = no_rank, .to = 2}));
    CHECK_FALSE(is_proof(right, key_of(1), nonce_of(3), {.job = pair.job, .size = 8, .from = no_rank, .to = 3}));
    for (const rank_t nobody : {rank_t{2}, rank_t{8}, no_rank}) { // itself, and nobody of the group
        introduction bad = pair;
        bad.from = nobody;
        CHECK_FALSE(is_proof(proof_of(bad, key_of(1), nonce_of(3))));
    }
}

TEST_CASE("tcp_handshake: every flipped bit of a proof or of an answer is seen") {
    const proof_message right = proof_of(pair, key_of(1), nonce_of(3));
    for (std::size_t bit = 0; bit != 8 * right.size(); ++bit) {
        auto bad = right;
        bad[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CAPTURE(bit);
        CHECK_FALSE(is_proof(bad));
    }
    answer_message answer{};
    REQUIRE(make_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(9), {tcp_verdict::taken, 300}, answer));
    tcp_answer said;
    REQUIRE(check_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(9), answer, said));
    CHECK(said == tcp_answer{tcp_verdict::taken, 300});
    for (std::size_t bit = 0; bit != 8 * answer.size(); ++bit) {
        auto bad = answer;
        bad[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CAPTURE(bit);
        CHECK_FALSE(check_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(9), bad, said));
    }
    CHECK_FALSE(check_answer<mac>(key_of(2), pair, nonce_of(3), nonce_of(9), answer, said));
    CHECK_FALSE(check_answer<mac>(key_of(1), pair, nonce_of(4), nonce_of(9), answer, said));
    CHECK_FALSE(check_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(8), answer, said));
}

TEST_CASE("tcp_handshake: a message of one role is none of the other") {
    // The mac of a proof where an answer is expected, and the other way round.
    const proof_message proof = proof_of(pair, key_of(1), nonce_of(3));
    answer_message answer{};
    REQUIRE(make_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(9), {tcp_verdict::welcome}, answer));
    auto forged_answer = answer;
    std::copy_n(proof.begin() + 64, 32, forged_answer.begin() + 16);
    tcp_answer said;
    CHECK_FALSE(check_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(9), forged_answer, said));
    auto forged_proof = proof;
    std::copy_n(answer.begin() + 16, 32, forged_proof.begin() + 64);
    CHECK_FALSE(is_proof(forged_proof));
    // A greeting that is sent back: the same two ranks with their roles exchanged.
    introduction back = pair;
    std::swap(back.from, back.to);
    CHECK_FALSE(is_proof(proof, key_of(1), nonce_of(3), {.job = pair.job, .size = 8, .from = no_rank, .to = 5}));
}

TEST_CASE("tcp_handshake: each side says its window, and one that is too small for any message is refused") {
    introduction large = pair;
    large.window_kib = 16 << 10;
    introduction who;
    nonce connecting{};
    REQUIRE(check_proof<mac>(key_of(1), {.job = pair.job, .size = 8, .from = no_rank, .to = 2}, nonce_of(3),
                             proof_of(large, key_of(1), nonce_of(3)), who, connecting));
    CHECK(who == large);
    for (const std::uint32_t small : {0u, 1u, least_window_kib - 1}) {
        introduction bad = pair;
        bad.window_kib = small;
        CHECK_FALSE(is_proof(proof_of(bad, key_of(1), nonce_of(3))));
        answer_message answer{};
        tcp_answer said;
        REQUIRE(make_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(9), {tcp_verdict::welcome, small}, answer));
        CHECK_FALSE(check_answer<mac>(key_of(1), pair, nonce_of(3), nonce_of(9), answer, said));
        CHECK(said == tcp_answer{});
    }
}

TEST_CASE("tcp_handshake: greetings") {
    nonce n{};
    CHECK(read_greeting(make_greeting(nonce_of(3)), n));
    CHECK(n == nonce_of(3));
    auto bad = make_greeting(nonce_of(3));
    bad[7] ^= std::byte{1}; // another version
    CHECK_FALSE(read_greeting(bad, n));
}

TEST_CASE("tcp_hosts: a list is read, and a wrong one is named") {
    std::vector<tcp_host> hosts;
    REQUIRE_FALSE(read_hosts("# two machines\n10.0.0.1 7000\n\n  ::1\t65535  # mine\r\n", hosts));
    CHECK((hosts == std::vector<tcp_host>{{"10.0.0.1", 7000}, {"::1", 65535}}));
    CHECK_FALSE(read_hosts("127.0.0.1 1", hosts));
    for (const char* bad : {"", "#\n", "127.0.0.1", "127.0.0.1 0", "127.0.0.1 65536", "127.0.0.1 x", "127.0.0.1 1 2",
                            "127.0.0.1 -1", "127.0.0.1 99999999999999999999"}) {
        CAPTURE(bad);
        CHECK(read_hosts(bad, hosts).code == errc::invalid_argument);
    }
}

TEST_CASE("tcp_hosts: a key is read from a file that only its owner may read") {
    const std::string hex = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
    job_key key;
    for (const std::string& text : {hex, hex + "\n"}) {
        const temporary_file file(text, 0600);
        REQUIRE_FALSE(read_key_file(file.path, key));
        for (std::size_t i = 0; i != 32; ++i) CHECK(key.bytes()[i] == static_cast<std::byte>(i));
    }
    const temporary_file raw(std::string(32, 'k'), 0400);
    REQUIRE_FALSE(read_key_file(raw.path, key));
    CHECK(key.bytes()[31] == std::byte{'k'});
    for (const mode_t mode : {0640u, 0604u, 0660u, 0620u}) {
        const temporary_file open(hex, mode);
        CHECK(read_key_file(open.path, key).code == errc::invalid_argument);
        CHECK_FALSE(key.is_set());
    }
    for (const std::string& text : {hex + "00", hex.substr(1), std::string(64, 'g'), hex.substr(0, 62) + "gg",
                                    std::string(), hex + "\n\n", std::string(64, '0'), std::string(32, '\0')}) {
        const temporary_file right(hex, 0600), wrong(text, 0600);
        REQUIRE_FALSE(read_key_file(right.path, key));
        CHECK(read_key_file(wrong.path, key).code == errc::invalid_argument);
        CHECK_FALSE(key.is_set()); // neither the one before nor a part of this one
    }
    const temporary_file target(hex, 0600);
    const std::string link = target.path + "-link";
    REQUIRE(::symlink(target.path.c_str(), link.c_str()) == 0);
    CHECK(read_key_file(link, key).code == errc::invalid_argument);
    ::unlink(link.c_str());
    CHECK(read_key_file("/tmp", key).code == errc::invalid_argument);
    CHECK(read_key_file("/nowhere/at/all", key).code == errc::invalid_argument);
    key.forget();
    for (const std::byte b : key.bytes()) CHECK(b == std::byte{});
}

TEST_CASE("tcp_hosts: a key is read from a descriptor") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const std::string text(32, 'q');
    REQUIRE(::write(ends[1], text.data(), 20) == 20);
    REQUIRE(::write(ends[1], text.data(), 12) == 12);
    ::close(ends[1]);
    job_key key;
    CHECK_FALSE(read_key_descriptor(ends[0], key));
    CHECK(key.bytes()[0] == std::byte{'q'});
    ::close(ends[0]);
    CHECK(key.is_set());
    CHECK(read_key_descriptor(-1, key).code == errc::invalid_argument);
    CHECK_FALSE(key.is_set());
}
