// SPDX-License-Identifier: BSL-1.0
// low_latency: what is left when a call fails: whose memory a transport still reads, who hears of it, and what comes next.
#include "support/catch.hpp"
#include <bough/direct/low_latency.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/in_process.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr low_latency_form forms[] = {low_latency_form::flat, low_latency_form::doubling, low_latency_form::tree};

using plain = in_process_regions::endpoint;

// What a test sees of a transport, and tells it to do.
struct script {
    struct put {
        rank_t to;
        std::uint64_t offset, id;
        std::span<const std::byte> first, second;
        std::vector<std::byte> then; // the bytes of both, when it was posted

        std::vector<std::byte> now() const {
            std::vector<std::byte> bytes(first.begin(), first.end());
            bytes.insert(bytes.end(), second.begin(), second.end());
            return bytes;
        }
    };
    std::function<posted(rank_t to)> next = [](rank_t) { return posted::complete; };
    std::vector<put> pending;      // each may land
    std::uint32_t polls_to_go = 0; // before what is pending does
    std::uint32_t puts = 0, lost = 0, waits_for_lost = 0;
    std::uint64_t now_ns = 1'000'000; // 10 us later whenever the time is asked for
};

// Puts end as the script says; pending ones land after so many polls, or when this end leaves.
class scripted : public plain {
public:
    static constexpr bool completes_at_once = false;

    scripted(plain&& base, script& s) : plain(std::move(base)), script_(&s) {}
    scripted(scripted&& other) : plain(std::move(other)), script_(std::exchange(other.script_, nullptr)) {}
    ~scripted() {
        if (script_ != nullptr) land();
    }
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        ++script_->puts;
        const posted how = script_->next(to);
        if (how == posted::complete) return plain::put(to, offset, first, second, id);
        if (how == posted::pending) {
            script_->pending.push_back({to, offset, id, first, second, {}});
            script_->pending.back().then = script_->pending.back().now();
        }
        return how;
    }
    std::size_t poll(std::span<event> events) {
        std::size_t found = 0;
        if (script_->pending.empty() || script_->polls_to_go == 0 || --script_->polls_to_go != 0) {
            found = plain::poll(events);
            for (const event& e : events.first(found)) script_->lost += e.what == event::kind::lost;
            return found;
        }
        for (const script::put& p : script_->pending)
            events[found++] = {.what = event::kind::complete, .peer = p.to, .id = p.id};
        land();
        return found;
    }
    std::uint64_t now_ns() const noexcept { return script_->now_ns += 10'000; }
    template <class Landed>
    void wait(std::uint32_t idle, std::uint64_t deadline_ns, Landed&& landed) const {
        script_->waits_for_lost += script_->lost != 0;
        plain::wait(idle, deadline_ns, landed);
    }

private:
    void land() {
        for (const script::put& p : script_->pending) plain::put(p.to, p.offset, p.first, p.second, p.id);
        script_->pending.clear();
    }
    script* script_;
};

// What a rank has told another: that it has given up, and why; ok: nothing.
errc told(const plain& to, rank_t by) {
    std::uint64_t word = 0;
    std::memcpy(&word, to.region().data() + 64 * std::size_t{by} + 56, 8);
    return word >> 8 == 1 ? static_cast<errc>(word & 0xff) : errc::ok;
}

} // namespace

TEST_CASE("low_latency: when a failed call returns, puts under way read none of its caller's memory") {
    for (const low_latency_form form : forms) {
        CAPTURE(static_cast<int>(form));
        const low_latency_options options{.form = form, .timeout_ns = 1'000'000};
        in_process_regions world(2, {.region_bytes = low_latency_bytes(2, options)});
        script s;
        s.next = [](rank_t) { return posted::pending; };
        plain other = world.connect(0); // which never calls
        status why;
        {
            low_latency group(scripted(world.connect(1), s), options);
            auto x = std::make_unique<std::array<long, 4>>();
            x->fill(7);
            allreduce(group, *x, plus{}, why);
            CHECK(why.code == errc::deadline);
            REQUIRE(s.pending.size() >= 2); // the vector, and that this rank has given up
            x->fill(8);
            for (const script::put& p : s.pending) CHECK(p.now() == p.then);
            x.reset(); // and what lands now is read from somewhere else
        }
        CHECK(told(other, 1) == errc::deadline);
    }
}

TEST_CASE("low_latency: that a rank has given up is put again when it is refused or throws, and seen through") {
    std::vector<long> longer(8);
    // Rank 0 of three gives up, and its puts end so; pending ones after so many polls. How many puts it takes.
    const auto gives_up = [&](std::function<posted(std::uint32_t put, rank_t to)> next, std::uint32_t polls,
                              std::vector<errc> heard) {
        in_process_regions world(3, {.region_bytes = low_latency_bytes(3)});
        script s;
        s.next = [&](rank_t to) { return next(s.puts, to); };
        s.polls_to_go = polls;
        const plain others[] = {world.connect(1), world.connect(2)};
        low_latency group(scripted(world.connect(0), s));
        status why;
        allreduce(group, longer, plus{}, why);
        CHECK(why.code == errc::size_overflow);
        CHECK(std::vector{told(others[0], 0), told(others[1], 0)} == heard);
        return s.puts;
    };
    constexpr errc all = errc::size_overflow;
    CHECK(gives_up([](std::uint32_t, rank_t) { return posted::complete; }, 0, {all, all}) == 2);
    CHECK(gives_up([](std::uint32_t put, rank_t) { return put < 5 ? posted::would_block : posted::complete; }, 0,
                   {all, all}) == 6);
    CHECK(gives_up([](std::uint32_t put, rank_t) { return put < 5 ? throw std::bad_alloc() : posted::complete; }, 0,
                   {all, all}) == 6);
    CHECK(gives_up([](std::uint32_t, rank_t) { return posted::pending; }, 3, {all, all}) == 2);
    CHECK(gives_up([](std::uint32_t, rank_t) { return posted::failed; }, 0, {errc::ok, errc::ok}) == 2);
    // One that never takes it, and another behind it: there is a bound.
    const auto takes_none = [](std::uint32_t, rank_t to) { return to == 1 ? posted::would_block : posted::complete; };
    const std::uint32_t tries = gives_up(takes_none, 0, {errc::ok, all});
    CHECK((tries > 50 && tries < 1000));
}

TEST_CASE("low_latency: a failure of the first call is the first call's, and poisons those behind it") {
    in_process_regions world(1, {.region_bytes = low_latency_bytes(1)});
    low_latency group(world.connect(0));
    std::vector<long> x(8);
    status why;
    allreduce(group, x, plus{}, why);
    CHECK((why.code == errc::size_overflow && why.operation == 1));
    CHECK(std::string(why.argument) == "data: longer than the group's most_bytes");
    for (int k = 0; k != 2; ++k) {
        barrier(group, why);
        CHECK((why.code == errc::group_poisoned && why.cause == errc::size_overflow && why.operation == 1));
    }
}

TEST_CASE("low_latency: nobody sleeps for a peer that is known to be gone") {
    in_process_regions world(2, {.region_bytes = low_latency_bytes(2)});
    script s;
    low_latency group(scripted(world.connect(0), s));
    { const plain leaves = world.connect(1); }
    status why;
    barrier(group, why);
    CHECK((why.code == errc::peer_dead && why.peer == 1 && why.operation == 1));
    CHECK((s.lost == 1 && s.waits_for_lost == 0));
}
