// SPDX-License-Identifier: BSL-1.0
// Proofs in parts: the same verdict as that of the whole proof, for right and wrong plans, and with the
// compilers' default limits for 128 ranks.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/table.hpp>
#include <bough/verify/verify.hpp>

#include <cstddef>

using namespace bough;

namespace {

// A plan with one step that is wrong.
enum class mistake { none, other_peer, forgotten, other_blocks, other_scratch, twice };
template <class P>
struct edited {
    P right;
    rank_t rank;
    std::size_t at;
    mistake what;

    constexpr auto goal() const { return right.goal(); }
    constexpr rank_t size() const { return right.size(); }
    constexpr rank_t root() const { return right.root(); }
    constexpr block_t blocks() const { return right.blocks(); }
    constexpr block_t scratch(rank_t r) const { return right.scratch(r); }
    constexpr void emit(rank_t r, StepSink auto&& sink) const {
        const schedule steps = right.schedule_of(r);
        for (std::size_t i = 0; i != steps.size(); ++i) {
            step s = steps[i];
            const bool wrong = r == rank && i == at;
            if (wrong && what == mistake::other_peer) s.peer = (s.peer + 1) % size();
            if (wrong && what == mistake::forgotten) continue;
            if (wrong && what == mistake::other_blocks) ++s.out.first;
            if (wrong && what == mistake::other_scratch) s.out.buffer = bough::scratch(7);
            for (int k = 0; k != (wrong && what == mistake::twice ? 2 : 1); ++k) {
                if (s.verb == verb::send) sink.send(s.peer, s.a);
                if (s.verb == verb::receive) sink.receive(s.peer, s.out);
                if (s.verb == verb::combine) sink.combine(s.a, s.b, s.out);
                if (s.verb == verb::copy) sink.copy(s.a, s.out);
            }
        }
    }
};

// Parts so small that each list of the proof stops and goes on.
template <auto PlanOf, rank_t Size>
struct tiny_parts {
    static constexpr std::size_t part_limit = 900;
    constexpr auto operator()() const { return PlanOf(Size); }
};
template <auto PlanOf, rank_t... Sizes>
consteval bool same_verdict() {
    return ((detail::prove_in_parts<tiny_parts<PlanOf, Sizes>{}>() == verify(PlanOf(Sizes))) && ...);
}

constexpr auto ring_of = [](rank_t size) { return plan_allreduce(ring{}, {.size = size}); };
constexpr auto doubling_of = [](rank_t size) {
    return plan_allreduce(recursive_doubling{}, {.size = size, .blocks = 2});
};
constexpr auto empty_of = [](rank_t size) { return plan_allreduce(binomial{}, {.size = size, .blocks = 0}); };
constexpr auto table_of = [](rank_t size) { return plan_reduce(table{tree{kary{.arity = 2}, size}}, {.size = size}); };
static_assert(same_verdict<ring_of, 1, 2, 5>());
static_assert(same_verdict<doubling_of, 1, 3, 8>());
static_assert(same_verdict<empty_of, 1, 3>());
static_assert(same_verdict<table_of, 1, 5>());

template <auto PlanOf, rank_t Rank, std::size_t At, mistake What>
constexpr auto edited_of = [](rank_t size) {
    return edited<decltype(PlanOf(size))>{PlanOf(size), Rank, At, What};
};
template <auto PlanOf, rank_t Rank, std::size_t At, mistake What>
consteval fault fault_of() {
    constexpr auto wrong_of = edited_of<PlanOf, Rank, At, What>;
    constexpr verdict found = detail::prove_in_parts<tiny_parts<wrong_of, 4>{}>();
    static_assert(found == verify(wrong_of(4)));
    return found.fault;
}
static_assert(fault_of<ring_of, 0, 0, mistake::none>() == fault::none);
static_assert(fault_of<ring_of, 2, 3, mistake::other_peer>() == fault::unmatched_send);
static_assert(fault_of<ring_of, 3, 1, mistake::forgotten>() == fault::mixed_blocks);
static_assert(fault_of<ring_of, 1, 2, mistake::forgotten>() == fault::read_of_nothing);
static_assert(fault_of<ring_of, 2, 2, mistake::other_blocks>() == fault::mixed_blocks);
static_assert(fault_of<ring_of, 3, 2, mistake::other_scratch>() == fault::scratch_exceeded);
static_assert(fault_of<ring_of, 1, 5, mistake::twice>() == fault::in_place_hazard);
static_assert(fault_of<doubling_of, 1, 5, mistake::twice>() == fault::repeated_contribution);
static_assert(fault_of<doubling_of, 3, 5, mistake::forgotten>() == fault::wrong_result);

// 128 ranks, with the compilers' default limits.
constexpr auto doubling = plan_allreduce(recursive_doubling{}, {.size = 128});
constexpr verdict proof_of_doubling = verify<doubling>();
static_assert(proven<proof_of_doubling>() && proof_of_doubling.traits.rounds == 7);
constexpr auto to_root = plan_reduce(binomial{}, {.size = 128, .root = 5});
static_assert(proven<verify<to_root>()>());
constexpr auto along = plan_broadcast(chain{}, {.size = 128});
static_assert(proven<verify<along>()>());
constexpr auto at_once = plan_allreduce(flat{}, {.size = 128});
static_assert(proven<verify<at_once>()>());
constexpr verdict proof_of_table = verify<[] { return table_of(128); }>(); // it owns memory
static_assert(proven<proof_of_table>());

// A fault of one of 128 ranks is named.
constexpr auto wrong = edited<decltype(doubling_of(128))>{doubling_of(128), 77, 4, mistake::other_peer};
constexpr verdict proof_of_wrong = verify<wrong>();
static_assert(proof_of_wrong.fault == fault::unmatched_send && proof_of_wrong.peer == 77);

} // namespace

TEST_CASE("a proof in parts comes to the same verdict") {
    CHECK(proof_of_doubling == verify(doubling));
    CHECK(proof_of_wrong == verify(wrong));
    CHECK(proof_of_table == verify(table_of(128)));
}
