// SPDX-License-Identifier: BSL-1.0
// Many operations over simulated remote writes: random collectives, roots, degrees, sizes and skew; writes that land late,
// torn and in any order; counters of one byte, so that they wrap all the time. Every result is compared, bit for bit.
// Compiled alone, optimised: it runs thousands of operations.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/tree/degree_k.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

using namespace bough;

namespace {

using word = std::uint64_t;
struct small_counters : credited_blocks {
    using counter = std::uint8_t;
    static constexpr std::uint32_t version = 99;
};
struct map { // x -> a x + b modulo 2^64; composing maps does not commute
    word a, b;
    friend bool operator==(const map&, const map&) = default;
};
struct compose {
    constexpr map operator()(const map& lower, const map& upper) const {
        return {upper.a * lower.a, upper.a * lower.b + upper.b};
    }
};

map given(word seed, std::uint32_t operation, rank_t rank, std::size_t i) {
    const word x = bough_test::mixed(seed * 1'000'003 + operation) + rank * 77 + i;
    return {bough_test::mixed(x) | 1, bough_test::mixed(x + 1)};
}

// What operation `number` is, on every rank.
struct drawn {
    enum class kind { doubling, tree, broadcast, reduce } what;
    rank_t root, k;
    std::size_t count;
    drawn(word seed, std::uint32_t number, rank_t size) {
        word x = bough_test::mixed(seed ^ bough_test::mixed(number));
        what = static_cast<kind>(x % 4);
        root = static_cast<rank_t>((x >> 8) % size);
        k = static_cast<rank_t>(1 + (x >> 16) % 4);
        count = static_cast<std::size_t>((x >> 24) % 4 == 0 ? (x >> 32) % 40 : (x >> 32) % 4);
    }
};

template <class Comm>
class rank_run {
public:
    rank_run(Comm comm, word seed, std::uint32_t operations, std::size_t at_once)
        : comm_(std::move(comm)), seed_(seed), operations_(operations), at_once_(at_once),
          chance_(seed * 31 + comm_.rank()) {}

    std::uint32_t done() const { return done_; }
    std::uint32_t wrong() const { return wrong_; }
    // Starts the next operation, at times late; looks after messages; checks what has ended.
    void turn() {
        comm_.progress();
        while (!open_.empty() && open_.front()->op.done()) finish();
        if (started_ != operations_ && open_.size() < at_once_ && (chance_ = bough_test::mixed(chance_)) % 8 != 0)
            start();
    }

private:
    struct one {
        std::vector<map> data;
        operation op;
    };
    void start() {
        const drawn d(seed_, started_, comm_.size());
        open_.push_back(std::make_unique<one>());
        one& o = *open_.back();
        for (std::size_t i = 0; i != d.count; ++i) o.data.push_back(given(seed_, started_, comm_.rank(), i));
        const std::span<map> x(o.data);
        using kind = drawn::kind;
        switch (d.what) {
        case kind::doubling: o.op = start_allreduce(comm_, x, compose{}, recursive_doubling{}); break;
        case kind::tree: o.op = start_allreduce(comm_, x, compose{}, degree_k{.k = d.k}); break;
        case kind::broadcast: o.op = start_broadcast(comm_, x, root{d.root}, degree_k{.k = d.k}); break;
        case kind::reduce: o.op = start_reduce(comm_, x, compose{}, root{0}, degree_k{.k = d.k}); break;
        }
        ++started_;
    }
    void finish() {
        one& o = *open_.front();
        status s;
        o.op.wait(s);
        const drawn d(seed_, done_, comm_.size());
        bool right = !s;
        for (std::size_t i = 0; i != d.count; ++i) {
            map expected = given(seed_, done_, d.what == drawn::kind::broadcast ? d.root : 0, i);
            if (d.what != drawn::kind::broadcast)
                for (rank_t r = 1; r != comm_.size(); ++r) expected = compose{}(expected, given(seed_, done_, r, i));
            if (d.what == drawn::kind::reduce && comm_.rank() != 0) expected = given(seed_, done_, comm_.rank(), i);
            right &= o.data[i] == expected;
        }
        wrong_ += right ? 0 : 1;
        ++done_;
        open_.pop_front();
    }

    Comm comm_;
    word seed_;
    std::uint32_t operations_, started_ = 0, done_ = 0, wrong_ = 0;
    std::size_t at_once_; // operations
    std::deque<std::unique_ptr<one>> open_;
    word chance_;
};

// How many operations were wrong or never ended, of all ranks.
template <class World>
std::uint64_t run(word seed, std::uint32_t operations) {
    const word x = bough_test::mixed(seed);
    const auto size = static_cast<rank_t>(1 + x % 8);
    one_sided_options options{.blocks = 1u << (x >> 8) % 4,
                              .block_bytes = static_cast<std::uint32_t>(16 + (x >> 16) % 3 * 80),
                              .piece_bytes = 64};
    World world(size, {.seed = seed,
                       .region_bytes = one_sided_bytes(size, options),
                       .depth = 2 + static_cast<std::uint32_t>(x >> 24) % 8,
                       .refuse = static_cast<std::uint32_t>(x >> 32) % 2 * 50,
                       .straggle = 10});
    using link = one_sided<typename World::endpoint, small_counters>;
    using comm = communicator<link>;
    std::vector<std::unique_ptr<rank_run<comm>>> ranks;
    for (rank_t r = 0; r != size; ++r) {
        options.static_bytes = r % 2 == 0 ? options.block_bytes : 16;
        options.expose_bytes =
            std::array{std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{200}}[static_cast<std::size_t>((x >> 40) % 3)];
        ranks.push_back(std::make_unique<rank_run<comm>>(comm(link(world.connect(r), options)), seed, operations,
                                                         options.blocks >= 8 ? 2u : 1u));
    }
    // Of virtual time; an operation takes some microseconds. Two at a time need blocks for the early messages of one.
    for (bool all = false; !all && world.now_ns() < 1'000'000u * std::uint64_t{operations};) {
        all = true;
        for (auto& r : ranks) r->turn(), all &= r->done() == operations;
    }
    std::uint64_t bad = world.violations() + world.strays();
    for (auto& r : ranks) bad += operations - r->done() + r->wrong();
    return bad;
}

} // namespace

TEMPLATE_TEST_CASE("one_sided: every operation is right, whatever the order in which bytes land", "", simulated_regions,
                   scattered_regions) {
    const std::uint32_t worlds = bough_test::all() ? 500 : 40, operations = bough_test::all() ? 1000 : 300;
    for (word seed = bough_test::seed() * 1000; seed != bough_test::seed() * 1000 + worlds; ++seed) {
        const std::uint64_t bad = run<TestType>(seed, operations);
        CAPTURE(seed);
        CHECK(bad == 0);
    }
}
