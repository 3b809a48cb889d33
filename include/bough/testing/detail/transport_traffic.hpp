// SPDX-License-Identifier: BSL-1.0
// The messages that the conformance suite sends. Sender and receiver both compute the envelope,
// length and payload of message n from one rank to another, so the receiver knows what must come.
#ifndef BOUGH_TESTING_DETAIL_TRANSPORT_TRAFFIC_HPP
#define BOUGH_TESTING_DETAIL_TRANSPORT_TRAFFIC_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::testing::detail {

// The messages from one rank to another.
struct stream {
    rank_t from = 0, to = 0;
    std::uint32_t target = 0; // how many will be posted
    std::uint32_t posted = 0; // accepted so far
    std::uint32_t arrived = 0;
    // How many of the last were not complete when their sender went away.
    std::uint32_t uncertain = 0;
    std::size_t fixed = ~std::size_t{0}; // the length of every message; by default lengths are mixed
};
class transport_traffic {
public:
    explicit transport_traffic(std::size_t longest) : longest_(longest), noise_(period + longest) {
        for (std::size_t i = 0; i != noise_.size(); ++i) noise_[i] = static_cast<std::byte>(mix_bits(i));
    }

    static std::uint64_t key(const stream& s, std::uint32_t number) noexcept {
        return mix_bits(mix_bits(std::uint64_t{s.from} << 32 | s.to) + number);
    }
    std::size_t length(const stream& s, std::uint32_t number) const noexcept {
        if (s.fixed != ~std::size_t{0}) return s.fixed;
        constexpr std::array<std::size_t, 15> lengths{0, 1, 8, 24, 25, 64, 2048, 2049, 0, 1, 8, 24, 25, 64, 8};
        const std::uint64_t k = mix_bits(key(s, number));
        return k % 64 == 0 ? longest_
                           : std::min(longest_, lengths[static_cast<std::size_t>((k >> 8) % lengths.size())]);
    }
    static envelope tag(const stream& s, std::uint32_t number) noexcept {
        std::uint64_t k = key(s, number);
        const auto next = [&k] { return k = mix_bits(k); };
        envelope e;
        e.epoch = static_cast<std::uint32_t>(next());
        e.operation = static_cast<std::uint32_t>(next());
        e.segment = static_cast<std::uint32_t>(next());
        e.context = static_cast<std::uint16_t>(next());
        e.kind = static_cast<std::uint8_t>(next());
        e.root = static_cast<std::uint8_t>(next());
        e.digest.hash = next();
        e.digest.op = static_cast<std::uint16_t>(next());
        e.digest.type = static_cast<std::uint16_t>(next());
        e.digest.plan = static_cast<std::uint16_t>(next());
        e.digest.count = static_cast<std::uint16_t>(next());
        return e;
    }
    std::span<const std::byte> payload(const stream& s, std::uint32_t number) const noexcept {
        return {noise_.data() + key(s, number) % period, length(s, number)};
    }
    bool is_payload(const stream& s, std::uint32_t number, const std::byte* data) const noexcept {
        const auto expected = payload(s, number);
        return expected.empty() || std::memcmp(data, expected.data(), expected.size()) == 0;
    }

private:
    static constexpr std::size_t period = 4093;
    std::size_t longest_;
    std::vector<std::byte> noise_;
};

} // namespace bough::testing::detail

#endif
