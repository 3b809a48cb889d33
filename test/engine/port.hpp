// SPDX-License-Identifier: BSL-1.0
// A port that writes down what the engine does, and answers as it is told.
#ifndef BOUGH_TEST_EXECUTE_PORT_HPP
#define BOUGH_TEST_EXECUTE_PORT_HPP

#include <bough/engine/engine.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace test {

struct port {
    struct message {
        std::uint32_t step;
        bough::rank_t to;
        std::uint32_t segment;
        const std::byte* data;
        std::uint64_t bytes;
    };
    std::vector<message> sent;
    std::deque<bough::posted> send_results; // then: complete
    std::deque<bough::posted> take_results;
    std::byte* taken_into = nullptr;
    bool claims = true;
    std::string log; // "s0" send of step 0, "c9" claim of handle 9, "r9" release, "t9" take

    bough::posted send(std::uint32_t step, bough::rank_t to, std::uint32_t segment, const std::byte* data,
                       std::uint64_t bytes) {
        log += "s" + std::to_string(step) + " ";
        sent.push_back({step, to, segment, data, bytes});
        return next(send_results);
    }
    bough::posted take(const bough::held_message& held, std::byte* into, std::uint64_t, std::uint32_t) {
        log += "t" + std::to_string(held.handle) + " ";
        taken_into = into;
        return next(take_results);
    }
    bool claim(const bough::held_message& held) {
        log += "c" + std::to_string(held.handle) + " ";
        return claims;
    }
    void release(const bough::held_message& held) { log += "r" + std::to_string(held.handle) + " "; }

    static bough::posted next(std::deque<bough::posted>& results) {
        if (results.empty()) return bough::posted::complete;
        const bough::posted result = results.front();
        results.pop_front();
        return result;
    }
};
static_assert(bough::EnginePort<port>);

// Its messages may come in pieces.
struct piece_port : port {
    std::deque<bough::posted> piece_results; // then: pending
    bough::posted take_pieces(const bough::held_message& held, std::uint64_t grain, std::uint32_t) {
        log += "p" + std::to_string(held.handle) + "/" + std::to_string(grain) + " ";
        if (piece_results.empty()) return bough::posted::pending;
        return next(piece_results);
    }
};
static_assert(bough::PiecePort<piece_port> && !bough::PiecePort<port>);

// A port with nothing but what the concept asks for, and those that lack one thing.
struct least_port {
    bough::posted send(std::uint32_t step, bough::rank_t to, std::uint32_t segment, const std::byte*, std::uint64_t);
    bough::posted take(const bough::held_message&, std::byte* into, std::uint64_t bytes, std::uint32_t step);
    bool claim(const bough::held_message&);
    void release(const bough::held_message&);
};
struct never_releases : least_port {
    void release(const bough::held_message&) = delete;
};
struct claims_nothing : least_port {
    void claim(const bough::held_message&);
};
struct takes_all : least_port {
    void take(const bough::held_message&, std::byte* into, std::uint64_t bytes, std::uint32_t step);
};
struct sends_to_nobody : least_port {
    bough::posted send(std::uint32_t step, std::uint32_t segment, const std::byte*, std::uint64_t);
};
static_assert(bough::EnginePort<least_port>);
static_assert(!bough::EnginePort<never_releases> && !bough::EnginePort<claims_nothing>);
static_assert(!bough::EnginePort<takes_all> && !bough::EnginePort<sends_to_nobody>);

} // namespace test

#endif
