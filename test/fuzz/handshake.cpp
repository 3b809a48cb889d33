// SPDX-License-Identifier: BSL-1.0
// Fuzzer of the handshake: the input is what a stranger sends, in each of the two roles. It proves nothing, whatever it is.
#include "fuzz/fuzz.hpp"
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/openssl_mac.hpp>

#include <algorithm>

using namespace bough;
using namespace bough::detail;

void fuzz_one(std::span<const std::byte> input) {
    static const job_key key = [] {
        job_key k;
        k.bytes()[5] = std::byte{99};
        return k;
    }();
    const nonce accepting{std::byte{1}}, connecting{std::byte{2}};
    const introduction mine{.job = 7, .size = 4, .from = no_rank, .to = 2};

    proof_message proof{};
    std::copy_n(input.begin(), std::min(input.size(), proof.size()), proof.begin());
    introduction who;
    nonce theirs{};
    if (read_proof(proof, who, theirs)) {
        // What was read is what stands there: writing it again gives the same bytes, less the mac.
        proof_message again{};
        fuzz_check(make_proof<openssl_mac>(key, who, accepting, theirs, again));
        fuzz_check(std::equal(proof.begin(), proof.begin() + 64, again.begin()));
    }
    fuzz_check(!check_proof<openssl_mac>(key, mine, accepting, proof, who, theirs));

    answer_message answer{};
    std::copy_n(input.begin(), std::min(input.size(), answer.size()), answer.begin());
    tcp_answer said;
    fuzz_check(!check_answer<openssl_mac>(key, {7, 4, 1, 2}, accepting, connecting, answer, said));
    fuzz_check(said == tcp_answer{});

    greeting_message greeting{};
    std::copy_n(input.begin(), std::min(input.size(), greeting.size()), greeting.begin());
    nonce read{};
    if (read_greeting(greeting, read)) fuzz_check(make_greeting(read) == greeting);
}
