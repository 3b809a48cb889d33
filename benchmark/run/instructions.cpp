// SPDX-License-Identifier: BSL-1.0
// Instructions of one 8-byte allreduce, all ranks together, without waiting: one thread drives every rank in turn, so the
// count is the same in every run. Made for callgrind:
//
//   valgrind --tool=callgrind --toggle-collect='measured*' build/.../bench-instructions 2        (ranks; 1000 operations)
//   valgrind --tool=callgrind --toggle-collect='measured*' build/.../bench-instructions 2 bare
//
//   valgrind --tool=callgrind --toggle-collect='measured*' build/.../bench-instructions 2 calls
//   valgrind --tool=callgrind --toggle-collect='measured*' build/.../bench-instructions 2 lengths
//
// `bare` runs the same engine on the same transport without a session: no matching, no signatures, no early messages, no
// deadlines, no poison. The difference is what safety costs. `calls` counts blocking calls through the front door, of one rank
// of two: its transport gives each message back as if the other rank had sent it. `lengths` counts the same calls, of 8 and
// of 16 bytes in turns.
#include "../arguments.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/session/session.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace {

using session = bough::session<bough::in_process::endpoint>;

struct rank_work {
    std::unique_ptr<session> group;
    std::unique_ptr<bough::prepared> work;
    bough::session_operation op;
    double value = 0;
};

constexpr std::uint32_t operations = 1000;

std::uint32_t next_operation = 0;

[[gnu::noinline]] void run(std::vector<rank_work>& ranks, const bough::any_op& plus) {
    for (std::uint32_t n = 0; n != operations; ++n) {
        bough::envelope tag;
        tag.operation = ++next_operation;
        for (rank_work& r : ranks) {
            r.value = 1;
            bough::call c;
            c.input = reinterpret_cast<const std::byte*>(&r.value);
            c.output = reinterpret_cast<std::byte*>(&r.value);
            c.count = 1;
            c.element_bytes = sizeof(double);
            c.combine = plus.function;
            r.group->start(r.op, *r.work, c, tag, {.plan = r.work->bound().plan_id}, 1'000'000'000);
        }
        for (bool busy = true; busy;) {
            busy = false;
            for (rank_work& r : ranks) {
                if (r.op.done()) continue;
                r.group->progress();
                busy |= !r.op.done();
            }
        }
    }
}

} // namespace

// Not in the unnamed namespace and not inlined: callgrind finds it by name. It only calls: where a
// compiler moves rare code apart, that part would have this name, too, and callgrind would stop there.
[[gnu::noinline]] void measured(std::vector<rank_work>& ranks, const bough::any_op& plus) {
    run(ranks, plus);
    asm volatile(""); // not a jump
}

namespace {

struct bare_rank {
    bough::in_process::endpoint transport;
    std::unique_ptr<bough::prepared> work;
    double value = 0;

    // Port of the engine.
    bough::posted send(std::uint32_t step, bough::rank_t to, std::uint32_t segment, const std::byte* data,
                       std::uint64_t bytes) {
        bough::envelope tag;
        tag.segment = segment;
        return transport.post_send(to, tag, {data, static_cast<std::size_t>(bytes)}, step);
    }
    bough::posted take(const bough::held_message& held, std::byte* into, std::uint64_t bytes, std::uint32_t step) {
        return transport.take(held.handle, {into, static_cast<std::size_t>(bytes)}, step);
    }
    bool claim(const bough::held_message& held) { return transport.claim(held.handle); }
    void release(const bough::held_message& held) { transport.release(held.handle); }
};

void run_bare(std::vector<bare_rank>& ranks, const bough::any_op& plus) {
    bough::event events[8];
    for (std::uint32_t n = 0; n != operations; ++n) {
        for (bare_rank& r : ranks) {
            r.value = 1;
            bough::call c;
            c.input = reinterpret_cast<const std::byte*>(&r.value);
            c.output = reinterpret_cast<std::byte*>(&r.value);
            c.count = 1;
            c.element_bytes = sizeof(double);
            c.combine = plus.function;
            r.work->prepare(c);
            r.work->engine().start(c, r);
        }
        for (bool busy = true; busy;) {
            busy = false;
            for (bare_rank& r : ranks) {
                if (r.work->engine().done()) continue;
                const std::size_t found = r.transport.poll(events);
                for (std::size_t i = 0; i != found; ++i) {
                    const bough::event& e = events[i];
                    for (const bough::bound_channel& channel : r.work->bound().channels)
                        if (channel.peer == e.peer)
                            r.work->engine().arrived(r.work->bound().receives[channel.first + e.envelope.segment],
                                                     {e.data, e.bytes, e.id, e.peer, true});
                }
                r.work->engine().go_on(r);
                busy |= !r.work->engine().done();
            }
        }
    }
}

} // namespace

// As measured() is.
[[gnu::noinline]] void measured_bare(std::vector<bare_rank>& ranks, const bough::any_op& plus) {
    run_bare(ranks, plus);
    asm volatile("");
}

namespace {

// What rank 0 sends to rank 1 comes back as a message of rank 1. Pre: one message at a time.
struct mirror {
    bough::rank_t rank() const noexcept { return 0; }
    bough::rank_t size() const noexcept { return 2; }
    bough::posted post_send(bough::rank_t, const bough::envelope& tag, std::span<const std::byte> bytes,
                            std::uint64_t) noexcept {
        latest = tag;
        length = bytes.size();
        std::memcpy(data, bytes.data(), std::min(length, sizeof data));
        is_full = true;
        return bough::posted::complete;
    }
    bool poll_from(bough::rank_t from, bough::event& e) noexcept {
        if (!is_full || from != 1) return false;
        is_full = false;
        e = {.peer = 1, .bytes = length, .data = data, .envelope = latest};
        return true;
    }
    std::size_t poll(std::span<bough::event> events) noexcept { return poll_from(1, events[0]) ? 1 : 0; }
    bough::posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) noexcept { return bough::posted::failed; }
    bool claim(std::uint64_t) noexcept { return true; }
    void release(std::uint64_t) noexcept {}
    bough::errc cancel(std::uint64_t) noexcept { return bough::errc::ok; }
    std::uint64_t now_ns() const noexcept { return 0; }

    bough::envelope latest{};
    std::size_t length = 0;
    alignas(8) std::byte data[64];
    bool is_full = false;
};

} // namespace

// Call n has lengths[n % 2] elements.
[[gnu::noinline]] void measured_calls(bough::communicator<mirror>& comm, double (&x)[2],
                                      const std::size_t (&lengths)[2]) {
    for (std::uint32_t n = 0; n != operations; ++n) {
        x[0] = x[1] = 1;
        bough::allreduce(comm, std::span(x, lengths[n % 2]), bough::plus{});
    }
}

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 2, "bench-instructions [ranks [bare|calls|lengths]]");
    const auto size = given.number<bough::rank_t>(1, "ranks", 1, 64, 2);
    const std::string_view what = given.word(2, "what to run", {"bare", "calls", "lengths"});
    const bool bare = what == "bare";
    if (what == "calls" || what == "lengths") {
        if (size != 2) given.refuse(1, "must be 2 for calls and lengths");
        bough::communicator comm{mirror{}};
        const std::size_t lengths[2]{1, what == "calls" ? std::size_t{1} : std::size_t{2}};
        double x[2]{1, 1};
        for (const std::size_t length : lengths)
            bough::allreduce(comm, std::span(x, length), bough::plus{}); // binds its plan
        measured_calls(comm, x, lengths);
        if (x[0] != 2 || x[1] != (what == "calls" ? 1 : 2)) return std::fputs("wrong result\n", stderr), 1;
        std::printf("%u calls of one rank of two\n", operations);
        return 0;
    }
    bough::in_process world{size};
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = size});
    const bough::any_op plus = bough::make_any_op<double>(bough::plus{});
    if (bare) {
        std::vector<bare_rank> ranks;
        for (bough::rank_t r = 0; r != size; ++r)
            ranks.push_back({world.connect(r), std::make_unique<bough::prepared>(bough::bind_plan(plan, r))});
        measured_bare(ranks, plus);
        for (const bare_rank& r : ranks)
            if (r.value != size) return std::fputs("wrong result\n", stderr), 1;
        return 0;
    }
    std::vector<rank_work> ranks(size);
    for (bough::rank_t r = 0; r != size; ++r) {
        ranks[r].group = std::make_unique<session>(world.connect(r));
        ranks[r].work = std::make_unique<bough::prepared>(bough::bind_plan(plan, r));
    }
    measured(ranks, plus);
    std::size_t steps = 0;
    for (const rank_work& r : ranks) {
        steps += r.work->bound().steps.size();
        if (r.value != size) return std::fputs("wrong result\n", stderr), 1;
    }
    std::printf("%u ranks, %u operations of %zu steps\n", size, operations, steps);
}
