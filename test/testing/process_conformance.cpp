// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/testing/process_conformance.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using testing::transport_rule;

namespace {

enum class flaw {
    none,
    swaps_messages,
    changes_a_byte,
    changes_an_envelope,
    shortens,
    swallows_one,
    twice_complete,
    always_room,
    sends_after_cancel,
    refuses_nobody,
    lost_twice,
    never_lost,
    false_ok
};

// An end of in_process with a flaw.
struct flawed {
    in_process::endpoint end;
    flaw what;
    std::uint64_t polls = 0, sends = 0;
    bool planted = false;                       // a flaw that shows once
    std::vector<event> more{};                  // events that it makes up
    std::vector<std::vector<std::byte>> kept{}; // messages that were accepted without room
    std::uint64_t cancelled = ~std::uint64_t{0};
    // Of sends_after_cancel: what its receiver reads instead of the sender's memory, into which the sender may write
    // when it has taken the message back. A claim that is refused leaves it as it is: wrong bytes.
    struct shown {
        std::uint64_t handle;
        const std::byte* from;
        std::vector<std::byte> bytes;
    };
    std::vector<shown> arrived{};

    rank_t rank() const { return end.rank(); }
    rank_t size() const { return end.size(); }
    std::uint64_t now_ns() const { return end.now_ns(); }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) { end.wait(idle, deadline_ns); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (what == flaw::refuses_nobody && to == rank()) return posted::would_block;
        ++sends;
        if (what == flaw::swallows_one && sends == 100) return posted::complete;
        envelope changed = tag;
        if (what == flaw::changes_an_envelope && sends >= 150 && !planted) ++changed.kind;
        if (what == flaw::shortens && sends > 150 && bytes.size() == 64) bytes = bytes.first(63);
        if (what == flaw::changes_a_byte && sends > 150 && bytes.size() == 64) {
            std::array<std::byte, 64> copy{};
            std::memcpy(copy.data(), bytes.data(), 64);
            copy[63] ^= std::byte{1};
            return end.post_send(to, changed, copy, id);
        }
        const posted result = end.post_send(to, changed, bytes, id);
        if (what == flaw::always_room && result == posted::would_block && bytes.size() == 8) return posted::complete;
        if (what == flaw::changes_an_envelope && sends >= 150) planted = planted || result != posted::would_block;
        if (what == flaw::twice_complete && result == posted::complete && sends >= 200 && !std::exchange(planted, true))
            more.push_back({.what = event::kind::complete, .id = id});
        return result;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return end.take(handle, into, id);
    }
    void release(std::uint64_t handle) { end.release(handle); }
    bool claim(std::uint64_t handle) {
        const bool is_mine = end.claim(handle);
        if (what != flaw::sends_after_cancel) return is_mine;
        const auto it =
            std::find_if(arrived.rbegin(), arrived.rend(), [&](const shown& s) { return s.handle == handle; });
        if (is_mine && it != arrived.rend()) std::memcpy(it->bytes.data(), it->from, it->bytes.size());
        return true;
    }
    errc cancel(std::uint64_t id) {
        const errc code = end.cancel(id);
        if (code == errc::ok) cancelled = id;
        return code;
    }
    std::size_t poll(std::span<event> events) {
        std::size_t found = 0;
        if (!more.empty()) events[found++] = more.back(), more.pop_back();
        found += end.poll(events.subspan(found));
        if (what == flaw::swaps_messages && found >= 2 && events[0].what == event::kind::arrived &&
            events[1].what == event::kind::arrived && events[0].peer == events[1].peer)
            std::swap(events[0], events[1]);
        for (std::size_t i = 0; i != found; ++i) {
            event& e = events[i];
            if (what == flaw::sends_after_cancel && e.what == event::kind::arrived && e.data != nullptr &&
                e.bytes != 0) {
                arrived.push_back({e.id, e.data, std::vector<std::byte>(e.bytes, std::byte{0xdd})});
                e.data = arrived.back().bytes.data();
            }
            if (what == flaw::false_ok && e.what == event::kind::complete && e.id == cancelled) e.code = errc::ok;
            if (e.what != event::kind::lost) continue;
            if (what == flaw::lost_twice) more.push_back(e);
            if (what == flaw::never_lost) e = events[--found], i = found - 1;
            if (found == 0) break;
        }
        return found;
    }
};

// An end that looks, when it is destroyed, at the bytes of its posts that are pending.
struct watched {
    struct post {
        std::uint64_t id;
        std::span<const std::byte> bytes;
        std::vector<std::byte> as_posted;
    };
    struct findings {
        std::size_t pending = 0, changed = 0;
    };
    in_process::endpoint end;
    findings* found;
    std::vector<post> posts{};

    watched(in_process::endpoint e, findings& f) : end(std::move(e)), found(&f) {}
    watched(watched&&) = default;
    ~watched() {
        for (const post& p : posts) {
            ++found->pending;
            found->changed += !std::equal(p.bytes.begin(), p.bytes.end(), p.as_posted.begin());
        }
    }
    rank_t rank() const { return end.rank(); }
    rank_t size() const { return end.size(); }
    std::uint64_t now_ns() const { return end.now_ns(); }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) { end.wait(idle, deadline_ns); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = end.post_send(to, tag, bytes, id);
        if (result == posted::pending) posts.push_back({id, bytes, {bytes.begin(), bytes.end()}});
        return result;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return end.take(handle, into, id);
    }
    void release(std::uint64_t handle) { end.release(handle); }
    errc cancel(std::uint64_t id) { return end.cancel(id); }
    std::size_t poll(std::span<event> events) {
        const std::size_t n = end.poll(events);
        for (const event& e : events.first(n))
            if (e.what == event::kind::complete) std::erase_if(posts, [&](const post& p) { return p.id == e.id; });
        return n;
    }
};

// The rules that the ranks, each a thread, see broken.
std::vector<transport_rule> broken(rank_t ranks, flaw what, const testing::process_check& options) {
    std::vector<transport_rule> found(ranks);
    in_process(ranks, {.slots = 8}).run([&](auto end) { // so few that some posts are refused
        const rank_t me = end.rank();
        found[me] = testing::check_transport_process(flawed{std::move(end), what}, options).rule;
    });
    return found;
}

} // namespace

TEST_CASE("process_conformance: in_process keeps the rules, its ranks being threads") {
    for (const rank_t ranks : {1u, 2u, 3u, 5u})
        for (const std::uint32_t eager_bytes : {0u, 2048u, 200'000u})
            for (const std::uint64_t seed : {1u, 2u}) {
                std::vector<testing::transport_fault> found(ranks);
                in_process(ranks, {.eager_bytes = eager_bytes}).run([&](auto end) {
                    const rank_t me = end.rank();
                    found[me] = testing::check_transport_process(std::move(end), {.seed = seed, .messages = 200});
                });
                for (const auto& fault : found) {
                    CAPTURE(ranks, eager_bytes, seed, fault.rank, fault.sentence);
                    CHECK(fault.rule == transport_rule::none);
                }
            }
}

TEST_CASE("process_conformance: finds each flaw") {
    struct expected {
        flaw what;
        transport_rule breaks;
    };
    for (const expected e :
         {expected{flaw::none, transport_rule::none}, expected{flaw::swaps_messages, transport_rule::in_order},
          expected{flaw::changes_a_byte, transport_rule::same_payload},
          expected{flaw::changes_an_envelope, transport_rule::in_order},
          expected{flaw::shortens, transport_rule::length}, expected{flaw::swallows_one, transport_rule::in_order},
          expected{flaw::twice_complete, transport_rule::one_event},
          expected{flaw::always_room, transport_rule::in_order},
          expected{flaw::sends_after_cancel, transport_rule::cancelled},
          expected{flaw::refuses_nobody, transport_rule::identity}, expected{flaw::lost_twice, transport_rule::loss},
          expected{flaw::never_lost, transport_rule::in_order}, expected{flaw::false_ok, transport_rule::cancelled}}) {
        const auto found = broken(3, e.what, {.patience_ns = 1'000'000'000});
        CAPTURE(static_cast<int>(e.what));
        CHECK(std::count(found.begin(), found.end(), e.breaks) != 0);
    }
}

// Others may read them until then.
TEST_CASE("process_conformance: what is pending when a rule is broken lives as long as the end") {
    in_process world(2, {.eager_bytes = 0});
    auto silent = world.connect(1);
    watched::findings found;
    const auto fault = testing::check_transport_process(watched{world.connect(0), found}, {.patience_ns = 1'000'000});
    CHECK(fault.rule == transport_rule::in_order); // the other rank never polls
    CHECK(found.pending != 0);
    CHECK(found.changed == 0);
}

TEST_CASE("process_conformance: a link without a bound is found") {
    // Slots enough for the whole flood: an in_process ring cannot have them, so the limit is lowered instead.
    // A rank that the machine stops during the flood gives up, since its peer may be polling again: so there are several tries.
    std::ptrdiff_t blamed = 0;
    for (int tries = 0; blamed == 0 && tries != 20; ++tries) {
        const auto found = broken(2, flaw::none, {.messages = 10, .cancellations = 0, .queue_limit = 4});
        blamed = std::count(found.begin(), found.end(), transport_rule::bounded);
    }
    CHECK(blamed == 1);
}
