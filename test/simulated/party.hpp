// SPDX-License-Identifier: BSL-1.0
// A party: sessions of all ranks over a simulated world, and one call on each of them, driven until all have ended.
#ifndef BOUGH_TEST_SIMULATED_PARTY_HPP
#define BOUGH_TEST_SIMULATED_PARTY_HPP

#include <bough/call/front_door.hpp>
#include <bough/session/session.hpp>
#include <bough/transport/simulated.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace test {

// What one rank calls. The buffer is input and output.
struct one_call {
    std::shared_ptr<bough::prepared> work;
    bough::call c{};
    bough::envelope tag{};
    bough::call_signature signature{};
    std::vector<std::byte> data;
};

// As the front doors do it.
template <class T, class O, bough::Plan P>
one_call make_call(const P& plan, bough::rank_t rank, std::vector<T> values, const O& op) {
    one_call made;
    made.work = std::make_shared<bough::prepared>(bough::bind_plan(plan, rank));
    const auto bytes = std::as_bytes(std::span(values));
    made.data.assign(bytes.begin(), bytes.end());
    made.data.reserve(1); // never null
    made.c.count = values.size();
    made.c.element_bytes = sizeof(T);
    made.c.combine = bough::make_any_op<T>(op).function;
    made.signature = bough::detail::signature_of<T, O>(values.size(), plan.root());
    made.signature.kind = decltype(plan.goal())::kind;
    made.signature.plan = made.work->bound().plan_id;
    return made;
}

template <class World>
class party {
public:
    using link = typename World::endpoint;

    party(bough::rank_t size, std::uint64_t seed) : world_(size, {.seed = seed}) {
        for (bough::rank_t r = 0; r != size; ++r)
            sessions_.push_back(std::make_unique<bough::session<link>>(world_.connect(r)));
        operations_ = std::vector<bough::session_operation>(size);
    }
    bough::session<link>& operator[](bough::rank_t r) { return *sessions_[r]; }
    World& world() { return world_; }

    // Every rank makes its call; returns how it ended on each. Rank r is late by skew[r] turns.
    std::vector<bough::status> run(std::vector<one_call>& calls, std::uint32_t number) {
        for (bough::rank_t r = 0; r != calls.size(); ++r) {
            one_call& mine = calls[r];
            mine.c.input = mine.data.data();
            mine.c.output = mine.data.data();
            mine.tag.operation = number;
            sessions_[r]->start(operations_[r], *mine.work, mine.c, mine.tag, mine.signature, 10'000'000);
            turn();
        }
        const auto done = [this] {
            for (const bough::session_operation& o : operations_)
                if (!o.done()) return false;
            return true;
        };
        while (!done()) {
            if (turn()) continue;
            for (auto& s : sessions_) s->check_deadlines();
            if (!world_.advance()) world_.advance_to(world_.now_ns() + 3'000'000);
        }
        std::vector<bough::status> ends;
        for (const bough::session_operation& o : operations_) ends.push_back(o.result());
        return ends;
    }
    // Everything that is under way arrives.
    void settle() {
        while (turn() || world_.advance()) {
        }
    }

private:
    bool turn() {
        bool moved = false;
        for (auto& s : sessions_) moved |= s->progress();
        return moved;
    }

    World world_;
    std::vector<std::unique_ptr<bough::session<link>>> sessions_;
    std::vector<bough::session_operation> operations_;
};

} // namespace test

#endif
