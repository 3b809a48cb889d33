// SPDX-License-Identifier: BSL-1.0
// Packed planes as the engine runs them: random schedules, blocks of any length, messages that come and
// sends that end in any order. What is sent must be what program order says, to the end of each send;
// memory is that of the loads.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/core/random.hpp>
#include <bough/engine/prepared.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using bytes = std::vector<std::byte>;

// Neither associative nor commutative: any other order of combines shows.
std::byte mix(std::byte lower, std::byte upper) {
    return static_cast<std::byte>(3 * std::to_integer<unsigned>(lower) + 5 * std::to_integer<unsigned>(upper) + 1);
}
void mix_all(const void*, const std::byte* lower, const std::byte* upper, std::byte* out, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) out[i] = mix(lower[i], upper[i]);
}

constexpr block_t blocks = 6;
constexpr std::uint32_t planes = 3; // the first two are packed
constexpr rank_t peers = 3;

// A schedule, and what it does when its steps run one after the other.
struct scenario {
    std::vector<step> steps;
    std::vector<std::uint64_t> offsets{0};
    bytes in;
    std::map<std::pair<std::uint32_t, block_t>, bytes> memory;              // by buffer and block
    std::map<rank_t, std::vector<bytes>> sent, received;                    // by peer: its messages
    std::vector<std::vector<block_t>> held{planes, std::vector<block_t>{}}; // in a packed plane
    std::vector<bool> is_read = std::vector<bool>(planes, false);
    std::vector<std::uint64_t> most = std::vector<std::uint64_t>(planes, 0); // bytes of the longest load

    std::uint64_t length(block_t b) const { return offsets[b + std::size_t{1}] - offsets[b]; }
    static buffer plane(std::uint32_t p) { return p < 2 ? packed_scratch(p) : scratch(p); }
    bytes& at(buffer b, block_t block) { return memory[{std::uint32_t{b.index}, block}]; }
};

class maker {
public:
    explicit maker(random_sequence& random) : random_(random) {
        for (block_t b = 0; b != blocks; ++b)
            made_.offsets.push_back(made_.offsets.back() + below(below(2) != 0 ? 60 : 3));
        for (std::uint64_t i = 0; i != made_.offsets.back(); ++i) made_.in.push_back(any_byte());
        for (block_t b = 0; b != blocks; ++b) {
            const auto first = made_.in.begin() + static_cast<std::ptrdiff_t>(made_.offsets[b]);
            made_.at(input, b) = bytes(first, first + static_cast<std::ptrdiff_t>(made_.length(b)));
        }
    }
    scenario make() {
        for (std::uint64_t i = 10 + below(40); i != 0; --i) switch (below(6)) {
            case 0: receive(); break;
            case 1: copy_in(); break;
            case 2: accumulate(); break;
            case 3: copy_out(); break;
            case 4: send_all(); break;
            default: send_some(); break;
            }
        return std::move(made_);
    }

private:
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    std::byte any_byte() { return static_cast<std::byte>(random_() % 256); }
    // A write of blocks that are not held begins a load, if anything was read.
    void write(std::uint32_t p, block_t b, bytes value) {
        if (p < 2) {
            if (made_.is_read[p]) made_.held[p].clear(), made_.is_read[p] = false;
            made_.held[p].push_back(b);
            std::uint64_t now = 0;
            for (const block_t h : made_.held[p]) now += made_.length(h);
            made_.most[p] = std::max(made_.most[p], now);
        }
        made_.at(scenario::plane(p), b) = std::move(value);
    }
    bool may_write(std::uint32_t p, block_t b) const {
        const auto& held = made_.held[p];
        return p >= 2 || made_.is_read[p] || std::find(held.begin(), held.end(), b) == held.end();
    }
    // A block of the plane, which is read; false: there is none.
    bool choose(std::uint32_t p, block_t& b) {
        if (p >= 2) return b = below(blocks), made_.memory.count({std::uint32_t{scenario::plane(p).index}, b}) != 0;
        if (made_.held[p].empty()) return false;
        b = made_.held[p][below(static_cast<std::uint32_t>(made_.held[p].size()))];
        made_.is_read[p] = true;
        return true;
    }
    void receive() {
        const rank_t peer = 1 + below(peers);
        const std::uint32_t p = below(planes);
        std::vector<block_t> order{0, 1, 2, 3, 4, 5};
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[below(static_cast<std::uint32_t>(i))]);
        order.resize(1 + below(4));
        for (const block_t b : order)
            if (!may_write(p, b)) return;
        bytes message;
        for (const block_t b : order) {
            bytes part;
            for (std::uint64_t i = 0; i != made_.length(b); ++i) part.push_back(any_byte());
            message.insert(message.end(), part.begin(), part.end());
            made_.steps.push_back(receive_step(peer, {scenario::plane(p), b, 1}, b != order.back()));
            write(p, b, std::move(part));
        }
        made_.received[peer].push_back(std::move(message));
    }
    void copy_in() {
        const std::uint32_t p = below(planes);
        const block_t b = below(blocks);
        if (!may_write(p, b)) return;
        made_.steps.push_back(copy_step({input, b, 1}, {scenario::plane(p), b, 1}));
        write(p, b, made_.at(input, b));
    }
    void accumulate() {
        const std::uint32_t p = below(planes);
        block_t b = 0;
        if (!choose(p, b)) return;
        const slice there{scenario::plane(p), b, 1};
        made_.steps.push_back(combine_step({input, b, 1}, there, there));
        bytes& value = made_.at(there.buffer, b);
        mix_all(nullptr, made_.at(input, b).data(), value.data(), value.data(), value.size());
    }
    void copy_out() {
        const std::uint32_t p = below(planes), to = (p + 1 + below(planes - 1)) % planes;
        const bool was_read = made_.is_read[p];
        block_t b = 0;
        if (!choose(p, b)) return;
        if (!may_write(to, b)) return void(made_.is_read[p] = was_read);
        const slice from{scenario::plane(p), b, 1}, into{scenario::plane(to), b, 1};
        bytes value = made_.at(from.buffer, b);
        if (below(2) != 0) {
            made_.steps.push_back(copy_step(from, into));
        } else {
            made_.steps.push_back(combine_step(from, {input, b, 1}, into));
            mix_all(nullptr, value.data(), made_.at(input, b).data(), value.data(), value.size());
        }
        write(to, b, std::move(value));
    }
    void send(const std::vector<slice>& parts) {
        const rank_t peer = 1 + below(peers);
        bytes message;
        for (std::size_t i = 0; i != parts.size(); ++i) {
            made_.steps.push_back(send_step(peer, parts[i], i + 1 != parts.size()));
            const bytes& part = made_.at(parts[i].buffer, parts[i].first);
            message.insert(message.end(), part.begin(), part.end());
        }
        made_.sent[peer].push_back(std::move(message));
    }
    void send_all() {
        const std::uint32_t p = below(2);
        std::vector<slice> parts;
        for (const block_t b : made_.held[p]) parts.push_back({scenario::plane(p), b, 1});
        if (parts.empty()) return;
        made_.is_read[p] = true;
        send(parts);
    }
    void send_some() {
        std::vector<slice> parts;
        for (std::uint32_t i = 1 + below(3); i != 0; --i) {
            const std::uint32_t p = below(planes);
            block_t b = 0;
            if (choose(p, b)) parts.push_back({scenario::plane(p), b, 1});
        }
        if (!parts.empty()) send(parts);
    }

    random_sequence& random_;
    scenario made_;
};

// Ends sends when it is told, and then looks whether they still say what they should.
struct slow_port {
    struct sending {
        std::uint32_t step;
        const std::byte* data;
        const bytes* expected;
    };
    const scenario& of;
    random_sequence& random;
    std::vector<sending> pending;
    std::size_t sent = 0;
    bool right = true;

    static bool is(const std::byte* data, const bytes& expected) {
        return expected.empty() || std::memcmp(data, expected.data(), expected.size()) == 0;
    }
    posted send(std::uint32_t step, rank_t to, std::uint32_t segment, const std::byte* data, std::uint64_t count) {
        const bytes& expected = of.sent.at(to).at(segment);
        ++sent;
        right = right && count == expected.size() && is(data, expected);
        if (random() % 3 == 0) return posted::complete;
        pending.push_back({step, data, &expected});
        return posted::pending;
    }
    posted take(const held_message&, std::byte*, std::uint64_t, std::uint32_t) { return posted::failed; }
    bool claim(const held_message&) { return true; }
    void release(const held_message&) {}
};

void run(const scenario& s, random_sequence& random) {
    prepared work(bind_steps(s.steps, blocks));
    const call c{
        .input = s.in.data(), .count = s.offsets.back(), .element_bytes = 1, .combine = mix_all, .offsets = s.offsets};
    for (int again = 0; again != 2; ++again) {
        slow_port port{s, random, {}};
        std::map<rank_t, std::size_t> come;
        work.prepare(c);
        work.start(c, port);
        while (!work.engine().done()) {
            REQUIRE(work.engine().error() == errc::ok);
            std::vector<rank_t> may_come;
            for (const auto& [peer, messages] : s.received)
                if (come[peer] != messages.size()) may_come.push_back(peer);
            const std::size_t choices = may_come.size() + port.pending.size();
            REQUIRE(choices != 0); // nothing waits for ever
            const std::size_t chosen = random() % choices;
            if (chosen < may_come.size()) {
                const rank_t peer = may_come[chosen];
                const std::size_t number = come[peer]++;
                const bytes& message = s.received.at(peer)[number];
                for (const bound_channel& channel : work.bound().channels)
                    if (channel.peer == peer)
                        work.engine().arrived(work.bound().receives[channel.first + number],
                                              {message.data(), message.size(), 1, peer, true}, port);
            } else {
                const auto ended = port.pending.begin() + static_cast<std::ptrdiff_t>(chosen - may_come.size());
                const slow_port::sending now = *ended;
                port.pending.erase(ended);
                port.right = port.right && slow_port::is(now.data, *now.expected);
                work.engine().completed(now.step, port);
            }
        }
        REQUIRE(port.right);
        REQUIRE(work.scratch_bytes() >= s.most[0] + s.most[1]);
        std::size_t messages = 0;
        for (const auto& [peer, list] : s.sent) messages += list.size();
        REQUIRE(port.sent == messages);
    }
}

} // namespace

TEST_CASE("packed planes: random schedules give what program order gives", "[engine]") {
    random_sequence random(bough_test::seed(), 0, 0);
    std::size_t whole = 0, packed = 0;
    for (int trial = 0; trial != (bough_test::all() ? 30'000 : 2'000); ++trial) {
        const scenario made = maker(random).make();
        CAPTURE(trial);
        run(made, random);
        const bound_schedule bound = bind_steps(made.steps, blocks);
        for (const bound_step& s : bound.steps) {
            if (s.verb != verb::send && s.verb != verb::receive) continue;
            const bound_place& place = bound.places[s.verb == verb::send ? s.a : s.out];
            if (place.parts > 1) ++(place.buffer < 4 ? whole : packed);
        }
    }
    CHECK(whole > 500);  // messages that are a whole load, which lie as they leave or come
    CHECK(packed > 500); // messages that are put together from elsewhere
}

TEST_CASE("packed planes: a message that is a whole load is not copied, and memory is that of the longest load") {
    const auto part = [](std::uint32_t p, block_t b) { return slice{packed_scratch(p), b, 1}; };
    std::vector<step> steps;
    for (block_t b = 0; b != 90; b += 3) {
        for (block_t k = 0; k != 3; ++k) steps.push_back(copy_step({input, b + k, 1}, part(0, b + k)));
        for (block_t k = 0; k != 3; ++k) steps.push_back(send_step(1, part(0, b + k), k != 2));
        for (block_t k = 0; k != 3; ++k) steps.push_back(receive_step(2, part(1, b + k), k != 2));
        for (block_t k = 0; k != 3; ++k) steps.push_back(copy_step(part(1, b + k), {output, b + k, 1}));
    }
    prepared work(bind_steps(steps, 90));
    CHECK(work.bound().steps.size() == 30 * 8); // a send and a receive for three parts each
    std::vector<std::uint64_t> offsets{0};
    for (std::uint64_t b = 0; b != 90; ++b) offsets.push_back(offsets.back() + 100 * (b % 7));
    const bytes data(static_cast<std::size_t>(offsets.back()));
    work.prepare({.input = data.data(), .count = offsets.back(), .element_bytes = 1, .offsets = offsets});
    CHECK(work.scratch_bytes() <= 2 * (1500 + 64) + 64); // three blocks of 600, 500 and 400 bytes
}

TEST_CASE("lowest bit first with a limit: all memory of a rank is the scratch blocks that the plan declares") {
    const auto check = [](const auto& plan, std::uint64_t length) {
        const rank_t p = plan.size();
        std::vector<std::uint64_t> offsets{0};
        for (rank_t b = 0; b != p; ++b) offsets.push_back(offsets.back() + length - b % 3 * 100);
        const bytes data(static_cast<std::size_t>(offsets.back()));
        for (const rank_t rank : {rank_t{0}, p / 2, p - 1}) {
            CAPTURE(label_of(plan.algorithm()).c_str(), p, rank);
            prepared work(bind_plan(plan, rank));
            work.prepare({.input = data.data(),
                          .count = offsets.back(),
                          .element_bytes = 1,
                          .combine = mix_all,
                          .offsets = offsets});
            const std::size_t lines = 64 * (work.bound().planes.size() + 1);
            CHECK(work.scratch_bytes() <= plan.scratch(rank) * length + lines);
        }
    };
    for (const rank_t p : {2u, 3u, 11u, 16u, 63u, 64u, 100u, 257u})
        for (const block_t limit : {1u, 2u, 4u, 16u, 128u}) {
            check(plan_reduce_scatter(lowest_bit_first{.aggregation_limit = limit}, {.size = p}), 1000);
            check(plan_allgather(lowest_bit_first{.aggregation_limit = limit}, {.size = p}), 1000);
            check(plan_allreduce(lowest_bit_first{.aggregation_limit = limit}, {.size = p}), 1000);
            check(plan_allreduce(lowest_bit_first{.scratch_limit = 10 + limit}, {.size = p}), 1000);
        }
}

TEST_CASE("the memory of a rank in a reduce_scatter, in blocks") {
    const auto memory = [](const auto& choice, rank_t p) {
        prepared work(bind_plan(plan_reduce_scatter(choice, {.size = p}), 0));
        const std::uint64_t length = 10'000;
        const bytes data(static_cast<std::size_t>(p * length));
        work.prepare({.input = data.data(), .count = p * length, .element_bytes = 1, .combine = mix_all});
        return work.scratch_bytes() / length;
    };
    CHECK(memory(ring{}, 64) == 125);
    CHECK(memory(lowest_bit_first{}, 64) == 156);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 64}, 64) == 127);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 16}, 64) == 95);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 4}, 64) == 31);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 1}, 64) == 7);
    CHECK(memory(ring{}, 1024) == 2045);
    CHECK(memory(lowest_bit_first{}, 1024) == 2556);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 16}, 1024) == 159);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 1}, 1024) == 11);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 64}, 1024) == 511);
    CHECK(memory(lowest_bit_first{.aggregation_limit = 4}, 1024) == 47);
}
