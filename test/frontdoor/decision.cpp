// SPDX-License-Identifier: BSL-1.0
// What decision_of says of a call is what the call does: the algorithm, and the messages that each rank gets.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/decision.hpp>
#include <bough/group.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/reduce.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/session/control.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

struct seen {
    std::uint8_t kind = 0; // of the calls that count
    std::uint64_t in_line = 0, longer = 0, least = ~std::uint64_t{0}, most = 0;
    friend bool operator==(const seen&, const seen&) = default;
};

// Watches the messages of calls on their way to a rank, but not what sessions tell each other about calls: a rank that
// waits for long asks the others where they are.
class watching : public forwarding_transport<in_process::endpoint> {
public:
    watching(in_process::endpoint end, seen& log) : forwarding_transport(std::move(end)), log_(log) {}
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner_.poll(events);
        for (const event& e : events.first(found)) {
            if (e.what != event::kind::arrived || e.envelope.digest.hash == 0 || e.envelope.kind != log_.kind ||
                e.envelope.segment >= bough::detail::inquiry_segment)
                continue;
            // The payload of a slot begins 40 bytes behind the beginning of a line. So may a part of a vector, which
            // stays with its sender only if it is long.
            const bool in_slot = reinterpret_cast<std::uintptr_t>(e.data) % 64 == 40 && e.bytes <= 2048;
            ++(in_slot ? log_.in_line : log_.longer);
            log_.least = std::min(log_.least, e.bytes);
            log_.most = std::max(log_.most, e.bytes);
        }
        return found;
    }
    std::uint64_t common_bytes() const noexcept { return inner_.common_bytes(); }
    std::span<std::byte> common(rank_t owner, std::uint64_t offset, std::uint64_t bytes) {
        return inner_.common(owner, offset, bytes);
    }
    void wake(rank_t peer) { inner_.wake(peer); }

private:
    seen& log_;
};

seen said_of(const decision& d) {
    seen made{.kind = d.kind};
    for (const message_way& w : d.ways) {
        if (w.way == protocol::late_place) continue;
        (w.way == protocol::in_line ? made.in_line : made.longer) += w.count;
        made.least = std::min(made.least, w.least_bytes);
        made.most = std::max(made.most, w.most_bytes);
    }
    return made;
}

constexpr model::alpha_beta_gamma network{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};

// Ranks for which decision_of and the call differ.
template <class Goal, class Call>
int differences(rank_t ranks, std::size_t count, const automatic& wanted, rank_t root, Call&& call) {
    std::atomic<int> wrong{0};
    in_process{ranks}.run([&](auto end) {
        seen log{.kind = Goal::kind};
        communicator comm{watching{std::move(end), log}};
        comm.set_costs(network);
        const auto said = said_of(
            decision_of<Goal>(comm, {.bytes = count * sizeof(double), .element_bytes = sizeof(double)}, wanted, root));
        std::vector<double> x(count);
        call(comm, std::span(x));
        wrong += log != said;
        barrier(comm);
    });
    return wrong;
}

} // namespace

TEST_CASE("decision_of: each rank gets the messages that it says") {
    for (const rank_t ranks : {2u, 3u, 4u, 7u})
        for (const std::size_t count : {1u, 11u, 12u, 128u, 1000u, 40'000u}) {
            CAPTURE(ranks, count);
            CHECK(differences<goal::allreduce>(ranks, count, {}, 0,
                                               [](auto& comm, auto x) { allreduce(comm, x, plus{}); }) == 0);
            CHECK(differences<goal::broadcast>(ranks, count, {}, 1,
                                               [](auto& comm, auto x) { broadcast(comm, x, bough::root{1}); }) == 0);
            CHECK(differences<goal::reduce>(ranks, count, {}, ranks - 1, [&](auto& comm, auto x) {
                      reduce(comm, x, plus{}, bough::root{ranks - 1});
                  }) == 0);
            const automatic ordered{.required = required(order_preserving)};
            CHECK(differences<goal::allreduce>(ranks, count, ordered, 0,
                                               [&](auto& comm, auto x) { allreduce(comm, x, plus{}, ordered); }) == 0);
        }
}

TEST_CASE("decision_of: what waiting ranks ask the one that is late, is none of these messages") {
    CHECK(differences<goal::allreduce>(3, 11, {}, 0, [](auto& comm, auto x) {
              if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
              allreduce(comm, x, plus{});
          }) == 0);
}

TEST_CASE("decision_of: a root of many takes what stands for it") {
    for (const rank_t to : {1u, 2u, 9u, 15u, 18u, 19u}) {
        CAPTURE(to);
        CHECK(differences<goal::reduce>(20, 600, {}, to,
                                        [&](auto& comm, auto x) { reduce(comm, x, plus{}, bough::root{to}); }) == 0);
    }
}

TEST_CASE("decision_of: what is left for late ranks is in no message") {
    const automatic late{.late_ranks = true};
    std::uint64_t most = 0;
    in_process{3}.run([&](auto end) {
        communicator comm{std::move(end)};
        const decision d = decision_of<goal::allreduce>(comm, {.bytes = 8}, late);
        if (comm.rank() != 1) return;
        CHECK((d.ways.size() == 1 && d.ways[0].way == protocol::late_place));
        most = d.ways[0].to_bytes;
        CHECK(to_string(d).find("rank 1 gets no messages: left for late ranks, as all up to ") != std::string::npos);
        CHECK(decision_of<goal::allreduce>(comm, {.bytes = most}, late).ways[0].way == protocol::late_place);
        CHECK(decision_of<goal::allreduce>(comm, {.bytes = most + 1}, late).ways[0].way != protocol::late_place);
        CHECK(decision_of<goal::allreduce>(comm, {.bytes = 8}).ways[0].way == protocol::in_line);
        CHECK(decision_of<goal::broadcast>(comm, {.bytes = 8}, late).ways[0].way == protocol::in_line);
    });
    for (const std::size_t count : {1u, static_cast<unsigned>(most / 8), static_cast<unsigned>(most / 8 + 1)}) {
        CAPTURE(count);
        CHECK(differences<goal::allreduce>(3, count, late, 0,
                                           [&](auto& comm, auto x) { allreduce(comm, x, plus{}, late); }) == 0);
    }
}

TEST_CASE("decision_of: says nothing of messages if the transport does not, and none if there is no choice") {
    communicator alone{self{}};
    CHECK(decision_of<goal::allreduce>(alone, {.bytes = 8}).ways.empty());
    in_process{2}.run([](auto end) {
        communicator comm{std::move(end)};
        const automatic wanted{.required = same_bits_as(recursive_doubling{}, {.size = 5})};
        CHECK_FALSE(decision_of<goal::allreduce>(comm, {.bytes = 8}, wanted));
    });
}

TEST_CASE("way_of: a communicator of some ranks asks by their numbers there") {
    struct telling : forwarding_transport<in_process::endpoint> {
        using forwarding_transport::forwarding_transport;
        static protocol way_of(rank_t peer, std::size_t, bool) noexcept {
            return peer == 3 ? protocol::staged : protocol::direct;
        }
    };
    in_process{4}.run([](auto end) {
        communicator comm{telling{std::move(end)}};
        auto part = split(comm, comm.rank() % 2, 4 - comm.rank());
        if (comm.rank() == 1) CHECK(part.way_of(0, 8, false) == protocol::staged); // ranks 3, 1
        if (comm.rank() == 2) CHECK(part.way_of(1, 8, false) == protocol::direct); // ranks 2, 0
        const decision d = decision_of<goal::allreduce>(part, {.bytes = 8});
        CHECK((d.at.size == 2 && d.ways.size() == 1));
        barrier(comm);
    });
}
