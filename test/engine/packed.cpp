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
#include <array>
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
constexpr rank_t peers = 3;
constexpr std::array buffers{input, packed_scratch(0), packed_scratch(1), scratch(2), scratch(3)};

// A schedule, and what it does when its steps run one after the other.
class scenario {
public:
    std::vector<step> steps;
    std::vector<std::uint64_t> offsets{0};
    bytes in;
    std::map<rank_t, std::vector<bytes>> sent, received; // by peer: its messages
    struct load {
        std::vector<slice> slices;
        bool is_read = false;
        std::uint64_t longest = 0; // bytes
    };
    std::array<load, 2> loads; // of the packed planes

    explicit scenario(random_sequence& random) {
        for (block_t b = 0; b != blocks; ++b) {
            const std::uint64_t length = random() % (random() % 2 != 0 ? 60 : 3);
            offsets.push_back(offsets.back() + length);
            for (std::uint64_t i = 0; i != length; ++i)
                memory_[{input.index, b}].push_back(static_cast<std::byte>(random() % 256));
            const bytes& value = memory_[{input.index, b}];
            in.insert(in.end(), value.begin(), value.end());
        }
    }
    std::uint64_t length(const slice& s) const { return offsets[s.last()] - offsets[s.first]; }
    // Adds a step. `message`: what a receive gets; what a send sends is put behind it. False: the step
    // may not stand here.
    bool add(const step& s, bytes& message) {
        bytes a, b;
        if (s.out.buffer == input && s.writes()) return false;
        if ((s.reads_a() && !read(s.a, a)) || (s.reads_b() && !read(s.b, b))) return false;
        steps.push_back(s);
        if (s.verb == verb::send) return message.insert(message.end(), a.begin(), a.end()), true;
        if (s.verb == verb::combine) mix_all(nullptr, a.data(), b.data(), a.data(), a.size());
        return write(s, s.verb == verb::receive ? message : a);
    }

private:
    bool read(const slice& s, bytes& value) {
        if (s.buffer.packed != 0 && s.count != 0) {
            load& from = loads[scratch_plane(s.buffer)];
            if (std::find(from.slices.begin(), from.slices.end(), s) == from.slices.end()) return false;
            from.is_read = true;
        }
        for (block_t b = s.first; b != s.last(); ++b) {
            const auto there = memory_.find({s.buffer.index, b});
            if (there == memory_.end()) return false;
            value.insert(value.end(), there->second.begin(), there->second.end());
        }
        return true;
    }
    bool write(const step& by, const bytes& value) {
        const slice& s = by.out;
        const bool stays = (by.reads_a() && by.a == s) || (by.reads_b() && by.b == s);
        if (s.buffer.packed != 0 && s.count != 0 && !stays) {
            load& to = loads[scratch_plane(s.buffer)];
            if (to.is_read) to.slices.clear(), to.is_read = false;
            for (const slice& other : to.slices)
                if (overlap(other, s)) return false;
            to.slices.push_back(s);
            std::uint64_t now = 0;
            for (const slice& other : to.slices) now += length(other);
            to.longest = std::max(to.longest, now);
        }
        auto from = value.begin();
        for (block_t b = s.first; b != s.last(); ++b) {
            const auto end = from + static_cast<std::ptrdiff_t>(length({s.buffer, b, 1}));
            memory_[{s.buffer.index, b}] = bytes(from, end);
            from = end;
        }
        return true;
    }

    std::map<std::pair<std::uint32_t, block_t>, bytes> memory_; // by buffer and block
};

// Draws steps, and keeps those that may stand where they are.
class maker {
public:
    explicit maker(random_sequence& random) : random_(random), made_(random) {}
    scenario make() {
        for (std::uint64_t i = 20 + below(80); i != 0; --i) {
            const slice s = any_blocks();
            switch (below(6)) {
            case 0: receive(); break;
            case 1: send(any_parts()); break;
            case 2: send(made_.loads[below(2)].slices); break;
            case 3: local(copy_step(s.in(any()), s.in(any()))); break;
            case 4: local(copy_step(s, s.in(any()))); break;
            default: local(combine_step(s.in(any()), s.in(any()), s.in(any())));
            }
        }
        return std::move(made_);
    }

private:
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    buffer any() { return buffers[below(buffers.size())]; }
    slice any_blocks() {
        const block_t first = below(blocks), count = below(8) == 0 ? 0 : below(4) == 0 ? 2 : 1;
        return {input, first, std::min(count, blocks - first)};
    }
    std::vector<slice> any_parts() {
        std::vector<slice> parts;
        const buffer one = any();
        const bool in_one = below(2) != 0;
        for (std::uint32_t i = 1 + below(3); i != 0; --i) parts.push_back(any_blocks().in(in_one ? one : any()));
        return parts;
    }
    void local(const step& s) {
        scenario tried = made_;
        bytes none;
        if (tried.add(s, none)) made_ = std::move(tried);
    }
    void send(const std::vector<slice>& parts) {
        scenario tried = made_;
        const rank_t peer = 1 + below(peers);
        bytes message;
        for (std::size_t i = 0; i != parts.size(); ++i)
            if (!tried.add(send_step(peer, parts[i], i + 1 != parts.size()), message)) return;
        if (!parts.empty()) tried.sent[peer].push_back(std::move(message)), made_ = std::move(tried);
    }
    void receive() {
        scenario tried = made_;
        const std::vector<slice> parts = any_parts();
        const rank_t peer = 1 + below(peers);
        bytes message;
        for (std::size_t i = 0; i != parts.size(); ++i) {
            for (std::size_t k = 0; k != i; ++k)
                if (overlap(parts[k], parts[i])) return; // nobody could tell which was first
            bytes part;
            for (std::uint64_t n = made_.length(parts[i]); n != 0; --n)
                part.push_back(static_cast<std::byte>(below(256)));
            if (!tried.add(receive_step(peer, parts[i], i + 1 != parts.size()), part)) return;
            message.insert(message.end(), part.begin(), part.end());
        }
        tried.received[peer].push_back(std::move(message));
        made_ = std::move(tried);
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
                                              {message.data(), message.size(), 1, peer, true});
            } else {
                const auto ended = port.pending.begin() + static_cast<std::ptrdiff_t>(chosen - may_come.size());
                const slow_port::sending now = *ended;
                port.pending.erase(ended);
                port.right = port.right && slow_port::is(now.data, *now.expected);
                work.engine().completed(now.step);
            }
            if (choices == 1 || random() % 2 == 0) work.engine().go_on(port); // often after several
        }
        REQUIRE(port.right);
        REQUIRE(work.scratch_bytes() >= s.loads[0].longest + s.loads[1].longest);
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
