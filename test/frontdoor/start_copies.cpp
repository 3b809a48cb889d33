// SPDX-License-Identifier: BSL-1.0
// Copies, counted as in the work on application bypass: of a child's message at the root of a reduction.
//   expected (the root waits) and late (the root has started and gone on): combined where it landed, no copy
//   unexpected (the root has not started): in its slot as long as few are; then one copy, into the session's memory
// The op sees where its operands lie. A long message lies in the memory of its sender.
#include "support/catch.hpp"
#include <bough/reduce.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/flat.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace copies {

using number = std::uint64_t;
// Where the upper operands lay, from the first element of a message on.
inline std::vector<const void*>* seen = nullptr;

struct watched_plus {
    number operator()(number a, number b) const { return a + b; }
    // An op may bring its own kernel (bough/op/combine.hpp): this one looks at the addresses.
    void combine(std::span<const number> lower, std::span<const number> upper, std::span<number> out) const {
        seen->push_back(upper.data());
        for (std::size_t i = 0; i != out.size(); ++i) out[i] = lower[i] + upper[i];
    }
};

} // namespace copies

namespace {

using namespace bough;
using copies::number;

struct two {
    simulated world{2};
    communicator<simulated::endpoint> root_comm{world.connect(0)}, child_comm{world.connect(1)};
    std::vector<const void*> addresses;
    two() { copies::seen = &addresses; }
    void settle() {
        for (int idle = 0; idle != 50; ++idle)
            for (const bool moved : {root_comm.progress(), child_comm.progress(), world.advance()})
                if (moved) idle = 0;
    }
};
constexpr std::size_t count = 1000; // 8,000 bytes: longer than what a slot holds

} // namespace

TEST_CASE("copies: an expected or late message is combined where it lies") {
    two w;
    std::vector<number> at_root(count, 1), at_child(count, 2);
    operation waits = start_reduce(w.root_comm, at_root, copies::watched_plus{}, root{0}, flat{});
    w.settle(); // the root has gone on: nothing to combine
    CHECK_FALSE(waits.done());
    operation late = start_reduce(w.child_comm, at_child, copies::watched_plus{}, root{0}, flat{});
    w.settle();
    REQUIRE(waits.done());
    REQUIRE(late.done());
    CHECK(at_root == std::vector<number>(count, 3));
    REQUIRE_FALSE(w.addresses.empty());
    for (const void* a : w.addresses) {
        CHECK(a >= static_cast<const void*>(at_child.data())); // in the child's own vector
        CHECK(a < static_cast<const void*>(at_child.data() + count));
    }
    CHECK(w.root_comm.shared_session()->early_allocations() == 0);
}

TEST_CASE("copies: an unexpected message is copied once at most") {
    for (const std::size_t ahead : {1u, 4u, 12u}) {
        two w;
        std::vector<std::vector<number>> at_root(ahead, std::vector<number>(count, 1)), at_child(ahead);
        std::vector<operation> ops;
        for (auto& v : at_child) {
            v.assign(count, 2);
            ops.push_back(start_reduce(w.child_comm, v, copies::watched_plus{}, root{0}, flat{}));
        }
        w.settle(); // all that can come has come
        const auto copied = w.root_comm.shared_session()->early_bytes();
        for (auto& v : at_root) ops.push_back(start_reduce(w.root_comm, v, copies::watched_plus{}, root{0}, flat{}));
        w.settle();
        std::size_t in_place = 0, elsewhere = 0;
        for (const void* a : w.addresses) {
            bool at_sender = false, in_result = false;
            for (const auto& v : at_child) at_sender |= a >= v.data() && a < v.data() + count;
            for (const auto& v : at_root) in_result |= a >= v.data() && a < v.data() + count;
            CHECK_FALSE(in_result); // that would be the second copy
            ++(at_sender ? in_place : elsewhere);
        }
        CAPTURE(ahead, in_place, elsewhere, copied);
        CHECK(in_place + elsewhere >= ahead);
        // Few: no copy at all. Many: the copies are the session's, and nothing else has copied.
        CHECK((copied == 0) == (elsewhere == 0));
        if (ahead <= 4) CHECK(elsewhere == 0);
        for (std::size_t k = 0; k != ops.size(); ++k) {
            CAPTURE(k);
            CHECK(ops[k].done());
        }
        for (const auto& v : at_root) CHECK(v == std::vector<number>(count, 3));
    }
}
