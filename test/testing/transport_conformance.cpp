// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/testing/transport_archetype.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::testing;

namespace {

// Passes everything on. Each transport below breaks one rule: the suite must name that one.
struct passes_on {
    explicit passes_on(transport_archetype end) : inner(std::move(end)) {}

    rank_t rank() const { return inner.rank(); }
    rank_t size() const { return inner.size(); }
    std::uint64_t now_ns() const { return inner.now_ns(); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return inner.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) {
        if (!extra.empty() && !events.empty()) {
            events[0] = extra.back();
            extra.pop_back();
            return 1;
        }
        return inner.poll(events);
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return inner.take(handle, into, id);
    }
    void release(std::uint64_t handle) { inner.release(handle); }
    errc cancel(std::uint64_t id) { return inner.cancel(id); }

    bool is_next(const event& e, event::kind what, int nth) { return e.what == what && ++count == nth; }

    transport_archetype inner;
    std::vector<event> extra; // events that a broken one makes up
    int count = 0;
};

// Ends no post, and looks at the bytes of those that are pending when it is destroyed.
struct looks_at_the_end : passes_on {
    static inline std::size_t pending = 0, changed = 0;
    using passes_on::passes_on;
    looks_at_the_end(looks_at_the_end&&) = default;
    ~looks_at_the_end() {
        for (const auto& [bytes, as_posted] : posts) {
            ++pending;
            changed += !std::equal(bytes.begin(), bytes.end(), as_posted.begin());
        }
    }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = inner.post_send(to, tag, bytes, id);
        if (result == posted::pending) posts.push_back({bytes, {bytes.begin(), bytes.end()}});
        return result;
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events);
        const auto rest = std::remove_if(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(found),
                                         [](const event& e) { return e.what == event::kind::complete; });
        return static_cast<std::size_t>(rest - events.begin());
    }
    std::vector<std::pair<std::span<const std::byte>, std::vector<std::byte>>> posts;
};

struct has_the_wrong_rank : passes_on {
    using passes_on::passes_on;
    rank_t rank() const { return 0; }
};
struct sends_to_itself : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return to == rank() ? posted::complete : inner.post_send(to, tag, bytes, id);
    }
};
struct ends_a_complete_post : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = inner.post_send(to, tag, bytes, id);
        if (result == posted::complete && ++count == 40) extra.push_back({.what = event::kind::complete, .id = id});
        return result;
    }
};
struct ends_a_refused_post : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = inner.post_send(to, tag, bytes, id);
        if (result == posted::would_block) extra.push_back({.what = event::kind::complete, .id = id});
        return result;
    }
};
struct ends_a_post_twice : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = passes_on::poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (is_next(events[i], event::kind::complete, 8)) extra.push_back(events[i]);
        return found;
    }
};
template <event::kind What, int Nth>
struct loses_an_event : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events.first(events.empty() ? 0 : 1));
        if (found == 0 || !is_next(events[0], What, Nth)) return found;
        if (What == event::kind::arrived) inner.release(events[0].id);
        return 0;
    }
};
struct reorders : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events);
        for (std::size_t i = 1; i < found; ++i)
            if (events[i].what == event::kind::arrived && events[i - 1].what == event::kind::arrived &&
                events[i].peer == events[i - 1].peer && ++count == 10)
                std::swap(events[i], events[i - 1]);
        return found;
    }
};
struct delivers_twice : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = passes_on::poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (is_next(events[i], event::kind::arrived, 50)) extra.push_back(events[i]);
        return found;
    }
};
struct reads_after_completion : passes_on { // a pending send is called complete
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = inner.post_send(to, tag, bytes, id);
        if (result == posted::pending) ours.insert(id);
        return result == posted::pending ? posted::complete : result;
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events.first(events.empty() ? 0 : 1));
        return found == 1 && events[0].what == event::kind::complete && ours.erase(events[0].id) != 0 ? 0 : found;
    }
    std::set<std::uint64_t> ours;
};
struct queues_without_end : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank()) return posted::failed;
        queue.push_back({to, tag, {bytes.begin(), bytes.end()}, id});
        return posted::complete;
    }
    struct message {
        rank_t to;
        envelope tag;
        std::vector<std::byte> bytes;
        std::uint64_t id;
    };
    std::deque<message> queue;
};
struct never_has_room_again : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = full ? posted::would_block : inner.post_send(to, tag, bytes, id);
        full = result == posted::would_block;
        return result;
    }
    bool full = false;
};
struct forgets_a_release : passes_on {
    using passes_on::passes_on;
    void release(std::uint64_t handle) {
        if (handle > last) inner.release(handle); // one out of order is forgotten
        last = handle;
    }
    std::uint64_t last = 0;
};
struct poll_sleeps : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        return inner.poll(events);
    }
};
struct truncates : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return inner.post_send(to, tag, bytes.first(std::min<std::size_t>(bytes.size(), 2048)), id);
    }
};
struct takes_any_length : passes_on {
    using passes_on::passes_on;
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        const posted result = inner.take(handle, into, id);
        return result == posted::failed && !into.empty() ? inner.take(handle, into.first(into.size() - 1), id) : result;
    }
};
struct corrupts_the_envelope : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (is_next(events[i], event::kind::arrived, 50)) events[i].envelope.digest.op ^= 0x8000u;
        return found;
    }
};
struct corrupts_the_payload : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (bytes.size() != 64) return inner.post_send(to, tag, bytes, id);
        std::vector<std::byte> other(bytes.begin(), bytes.end());
        other[63] ^= std::byte{1};
        return inner.post_send(to, tag, other, id);
    }
};
struct writes_beside : passes_on {
    using passes_on::passes_on;
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        const posted result = inner.take(handle, into, id);
        if (result == posted::pending && into.size() == 25) *(into.data() + 25) = std::byte{0};
        return result;
    }
};
struct cancels_without_event : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events.first(events.empty() ? 0 : 1));
        return found == 1 && events[0].code == errc::cancelled ? 0 : found;
    }
};
struct reads_after_cancel : passes_on {
    using passes_on::passes_on;
    errc cancel(std::uint64_t id) {
        if (id == 77) return inner.cancel(id);
        extra.push_back({.what = event::kind::complete, .code = errc::cancelled, .id = id});
        return errc::ok;
    }
};
struct calls_a_cancelled_post_ok : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (events[i].code == errc::cancelled) events[i].code = errc::ok;
        return found;
    }
};
struct reports_a_loss_twice : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = passes_on::poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (is_next(events[i], event::kind::lost, 1)) extra.push_back(events[i]);
        return found;
    }
};
struct reports_a_loss_early : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events);
        for (std::size_t i = 0, last = found; i + 1 < last; ++i)
            if (events[last - 1].what == event::kind::lost) std::swap(events[i], events[last - 1]);
        return found;
    }
};
struct reports_a_living_peer : passes_on {
    using passes_on::passes_on;
    std::size_t poll(std::span<event> events) {
        if (++count == 300) extra.push_back({.what = event::kind::lost, .peer = rank() == 0 ? rank_t{1} : rank_t{0}});
        return passes_on::poll(events);
    }
};
struct sends_to_the_lost : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = inner.post_send(to, tag, bytes, id);
        return result == posted::failed && to < size() && to != rank() ? posted::complete : result;
    }
};

// Keeps up to four short messages back, so that they leave together: at its next poll, at a flush, or at its end.
struct gathers : passes_on {
    using passes_on::passes_on;
    gathers(gathers&&) = default;
    ~gathers() { flush(); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank()) return posted::failed;
        const bool is_short = bytes.size() <= 64 && !counts[to].lost;
        if (!is_short || kept.size() == 4) flush();
        if (kept.size() == 4 || (!is_short && !kept.empty())) return posted::would_block; // in order
        if (is_short) {
            kept.push_back({to, tag, {bytes.begin(), bytes.end()}});
            return ++counts[to].accepted, posted::complete;
        }
        const posted result = inner.post_send(to, tag, bytes, id);
        if (result == posted::complete || result == posted::pending) ++counts[to].accepted, ++counts[to].handed_over;
        return result;
    }
    std::size_t poll(std::span<event> events) {
        flush();
        const std::size_t found = inner.poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (events[i].what == event::kind::lost) counts[events[i].peer].lost = true;
        return found;
    }
    void flush() {
        while (!kept.empty()) {
            const message& m = kept.front();
            if (inner.post_send(m.to, m.tag, m.bytes, 0) == posted::would_block && !counts[m.to].lost) return;
            ++counts[m.to].handed_over;
            kept.pop_front();
        }
    }
    bool unsent() const { return !kept.empty(); }
    std::uint64_t accepted(rank_t to) const { return counts.at(to).accepted; }
    std::uint64_t handed_over(rank_t to) { return counts[to].handed_over; }

    struct count {
        std::uint64_t accepted = 0, handed_over = 0;
        bool lost = false;
    };
    struct message {
        rank_t to;
        envelope tag;
        std::vector<std::byte> bytes;
    };
    std::deque<message> kept;
    std::array<count, 8> counts{};
};
// As `gathers`, and tells nobody: it is no GatheringTransport.
struct gathers_in_silence : passes_on {
    using passes_on::passes_on;
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank()) return posted::failed;
        send_kept();
        if (kept) return posted::would_block;
        const posted result = inner.post_send(to, tag, bytes, id);
        if (result != posted::would_block || bytes.size() > 64 || lost == to) return result;
        kept = true;
        last = {to, tag, {bytes.begin(), bytes.end()}};
        return posted::complete;
    }
    std::size_t poll(std::span<event> events) {
        send_kept();
        const std::size_t found = inner.poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (events[i].what == event::kind::lost) lost = events[i].peer;
        return found;
    }
    void send_kept() {
        if (kept) kept = lost != last.to && inner.post_send(last.to, last.tag, last.bytes, 0) == posted::would_block;
    }
    gathers::message last{};
    bool kept = false;
    rank_t lost = no_rank;
};
struct flushes_nothing : gathers {
    using gathers::gathers;
    void flush() {}
};
struct hands_over_too_early : gathers {
    using gathers::gathers;
    void flush() {}
    std::uint64_t handed_over(rank_t to) { return counts[to].accepted; }
};

// The rule that the suite finds broken. Printed: what it says.
template <class T>
transport_rule broken_rule(const transport_check& options = {.messages = 1000, .patience_ns = 0},
                           const loop_options& loop = {}) {
    const auto make = [&loop](rank_t ranks) {
        std::vector<T> ends;
        const loop_group group(ranks, loop);
        for (rank_t r = 0; r != ranks; ++r) ends.push_back(T(group.connect(r)));
        return ends;
    };
    const transport_fault fault = check_transport(make, options);
    UNSCOPED_INFO(fault.sentence << " (seen by rank " << fault.rank << ")");
    return fault.rule;
}

} // namespace

TEST_CASE("transport conformance: a transport that keeps all rules passes, whatever its limits") {
    for (const std::uint32_t slots : {1u, 2u, 4u, 64u})
        for (const std::uint32_t eager_bytes : {0u, 64u, 200'000u}) {
            const auto fault = check_transport(
                [&](rank_t ranks) {
                    return loop_group(ranks, {.slots = slots, .eager_bytes = eager_bytes}).connect_all();
                },
                {.messages = 1000});
            CAPTURE(slots, eager_bytes, fault.sentence, fault.rank);
            CHECK(fault.rule == transport_rule::none);
        }
    CHECK(broken_rule<passes_on>() == transport_rule::none);
    CHECK(broken_rule<passes_on>({.ranks = 1}) == transport_rule::none);
    CHECK(broken_rule<gathers>({.messages = 1000}, {.slots = 64}) == transport_rule::none);
    CHECK(broken_rule<passes_on>({.ranks = 2, .longest = 1}) == transport_rule::none);
}

namespace {

// Transports that can look at one peer alone (PollsPeers), and that break a rule there.
struct looks_at_another : in_process::endpoint {
    explicit looks_at_another(in_process::endpoint end) : in_process::endpoint(std::move(end)) {}
    bool poll_from(rank_t from, event& e) {
        if (from >= size() || from == rank()) return false;
        return in_process::endpoint::poll_from(from == 0 ? 1 : 0, e);
    }
};
struct tells_twice : in_process::endpoint {
    explicit tells_twice(in_process::endpoint end) : in_process::endpoint(std::move(end)) {}
    bool poll_from(rank_t from, event& e) {
        if (!in_process::endpoint::poll_from(from, e)) return false;
        if (++count == 20) again = e;
        return true;
    }
    std::size_t poll(std::span<event> events) {
        if (again.peer == no_rank || events.empty()) return in_process::endpoint::poll(events);
        events[0] = std::exchange(again, {});
        return 1;
    }
    event again{};
    int count = 0;
};
struct finds_what_is_not_there : in_process::endpoint {
    explicit finds_what_is_not_there(in_process::endpoint end) : in_process::endpoint(std::move(end)) {}
    bool poll_from(rank_t from, event& e) {
        if (from == no_rank) return true;
        return in_process::endpoint::poll_from(from, e);
    }
};
// Transports with memory that all ranks see, and that break a rule there.
struct has_memory_of_its_own : in_process::endpoint {
    explicit has_memory_of_its_own(in_process::endpoint end) : in_process::endpoint(std::move(end)) {}
    std::span<std::byte> common(rank_t, std::uint64_t offset, std::uint64_t bytes) {
        return in_process::endpoint::common(rank(), offset, bytes);
    }
};
struct has_too_much_memory : in_process::endpoint {
    explicit has_too_much_memory(in_process::endpoint end) : in_process::endpoint(std::move(end)) {}
    std::span<std::byte> common(rank_t owner, std::uint64_t offset, std::uint64_t bytes) {
        const bool beyond = offset + bytes > common_bytes();
        return in_process::endpoint::common(owner, beyond ? 0 : offset, bytes);
    }
};
struct sleeps_on : in_process::endpoint {
    explicit sleeps_on(in_process::endpoint end) : in_process::endpoint(std::move(end)) {}
    void wake(rank_t) {}
};
template <class End>
transport_rule broken_by() {
    return check_transport(
               [](rank_t ranks) {
                   in_process world(ranks);
                   std::vector<End> ends;
                   for (rank_t r = 0; r != ranks; ++r) ends.emplace_back(world.connect(r));
                   return ends;
               },
               {.messages = 1000})
        .rule;
}

} // namespace

TEST_CASE("transport conformance: poll_from finds each message of its peer once, in order") {
    CHECK(broken_by<in_process::endpoint>() == transport_rule::none);
    CHECK(broken_by<looks_at_another>() == transport_rule::in_order);
    CHECK(broken_by<tells_twice>() == transport_rule::in_order);
    CHECK(broken_by<finds_what_is_not_there>() == transport_rule::identity);
}

TEST_CASE("transport conformance: common memory is the same for all, and who is woken looks") {
    CHECK(broken_by<has_memory_of_its_own>() == transport_rule::common_memory);
    CHECK(broken_by<has_too_much_memory>() == transport_rule::common_memory);
    CHECK(broken_by<sleeps_on>() == transport_rule::common_memory);
}

TEST_CASE("transport conformance: what is pending when a rule is broken lives as long as the ends") {
    CHECK(broken_rule<looks_at_the_end>({.patience_ns = 0}, {.eager_bytes = 0}) == transport_rule::one_event);
    CHECK(looks_at_the_end::pending != 0);
    CHECK(looks_at_the_end::changed == 0);
}

TEST_CASE("transport conformance: each rule can be broken, and is then named") {
    CHECK(broken_rule<has_the_wrong_rank>() == transport_rule::identity);
    CHECK(broken_rule<sends_to_itself>() == transport_rule::identity);
    CHECK(broken_rule<ends_a_complete_post>() == transport_rule::complete_is_silent);
    CHECK(broken_rule<ends_a_refused_post>() == transport_rule::one_event);
    CHECK(broken_rule<ends_a_post_twice>() == transport_rule::one_event);
    CHECK(broken_rule<loses_an_event<event::kind::complete, 8>>() == transport_rule::one_event);
    CHECK(broken_rule<loses_an_event<event::kind::arrived, 30>>() == transport_rule::in_order);
    CHECK(broken_rule<reorders>() == transport_rule::in_order);
    CHECK(broken_rule<delivers_twice>() == transport_rule::in_order);
    CHECK(broken_rule<reads_after_completion>() == transport_rule::borrowed_bytes);
    CHECK(broken_rule<queues_without_end>() == transport_rule::bounded);
    CHECK(broken_rule<never_has_room_again>() == transport_rule::release);
    CHECK(broken_rule<forgets_a_release>({.patience_ns = 0}, {.eager_bytes = 200'000}) == transport_rule::release);
    CHECK(broken_rule<poll_sleeps>() == transport_rule::poll_returns);
    CHECK(broken_rule<truncates>() == transport_rule::length);
    CHECK(broken_rule<takes_any_length>() == transport_rule::length);
    CHECK(broken_rule<corrupts_the_envelope>() == transport_rule::same_envelope);
    CHECK(broken_rule<corrupts_the_payload>() == transport_rule::same_payload);
    CHECK(broken_rule<writes_beside>() == transport_rule::same_payload);
    CHECK(broken_rule<cancels_without_event>() == transport_rule::cancelled);
    CHECK(broken_rule<reads_after_cancel>() == transport_rule::cancelled);
    CHECK(broken_rule<calls_a_cancelled_post_ok>() == transport_rule::cancelled);
    CHECK(broken_rule<reports_a_loss_twice>() == transport_rule::loss);
    CHECK(broken_rule<reports_a_loss_early>() == transport_rule::loss);
    CHECK(broken_rule<reports_a_living_peer>() == transport_rule::loss);
    CHECK(broken_rule<sends_to_the_lost>() == transport_rule::loss);
    CHECK(broken_rule<loses_an_event<event::kind::lost, 1>>() == transport_rule::loss);
    CHECK(broken_rule<gathers_in_silence>() == transport_rule::handed_over);
    CHECK(broken_rule<flushes_nothing>({.messages = 1000, .patience_ns = 0}, {.slots = 64}) ==
          transport_rule::handed_over);
    CHECK(broken_rule<hands_over_too_early>({.messages = 1000, .patience_ns = 0}, {.slots = 64}) ==
          transport_rule::handed_over);
}
