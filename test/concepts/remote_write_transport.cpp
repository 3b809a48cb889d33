// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/concepts/explain_remote_write_transport.hpp>
#include <bough/concepts/remote_write_transport.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/testing/remote_write_archetype.hpp>
#include <bough/testing/remote_write_conformance.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

struct base {
    static constexpr bool keeps_byte_order = true;
    rank_t rank() const { return 0; }
    rank_t size() const { return 1; }
    std::span<std::byte> region() const { return {}; }
    posted put(rank_t, std::uint64_t, std::span<const std::byte>, std::span<const std::byte>, std::uint64_t) {
        return posted::failed;
    }
    std::size_t poll(std::span<event>) { return 0; }
    std::uint64_t now_ns() const { return 0; }
};
struct order_is_no_constant : base {
    bool keeps_byte_order = true;
};
struct scatters_without_flush : base {
    static constexpr bool keeps_byte_order = false;
};
struct flushes : scatters_without_flush {
    posted flush(rank_t, std::uint64_t) { return posted::failed; }
};
struct shows_const_memory : base {
    std::span<const std::byte> region() const { return {}; }
};
struct puts_one_piece : base {
    posted put(rank_t, std::uint64_t, std::span<const std::byte>, std::uint64_t) { return posted::failed; }
};
struct waits : base {
    template <class Landed>
    void wait(std::uint32_t, std::uint64_t, Landed&&) {}
};

} // namespace

static_assert(explain_remote_write_transport<testing::remote_write_archetype>() &&
              explain_remote_write_transport<base>() && explain_remote_write_transport<flushes>());
static_assert(!RemoteWriteTransport<order_is_no_constant> && !RemoteWriteTransport<scatters_without_flush> &&
              !RemoteWriteTransport<shows_const_memory> && !RemoteWriteTransport<puts_one_piece> &&
              !RemoteWriteTransport<int>);
static_assert(!ExposingRemoteWrites<base> && !CountedRemoteWrites<base> && !GatheringRemoteWrites<base>);
static_assert(!WaitableRemoteWrites<base> && WaitableRemoteWrites<waits>);

namespace {

enum class flaw {
    none,
    dirty_region,
    writes_beyond,
    puts_elsewhere,
    silent,
    reads_late,
    word_first,
    early_flush,
    lost_twice,
    never_lost,
    puts_to_lost,
    exposed_elsewhere,
    exposes_once,
    exposes_more,
    never_conceals,
    counts_early,
    counts_others,
    keeps_back
};

// An end of simulated regions with a flaw.
template <class World>
struct flawed {
    typename World::endpoint end;
    flaw what;
    std::uint64_t puts = 0;
    std::vector<event> more{};
    std::vector<rank_t> lost{};

    static constexpr bool keeps_byte_order = World::endpoint::keeps_byte_order;
    rank_t rank() const { return end.rank(); }
    rank_t size() const { return end.size(); }
    std::uint64_t now_ns() const { return end.now_ns(); }
    std::span<std::byte> region() const { return end.region(); }
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        const std::uint64_t length = first.size() + second.size();
        if (what == flaw::puts_to_lost && std::find(lost.begin(), lost.end(), to) != lost.end())
            return posted::complete;
        if (what == flaw::writes_beyond && offset + length > region().size()) return posted::complete;
        if (++puts > 20 && what == flaw::puts_elsewhere && offset > 0) offset -= 1;
        if (what == flaw::word_first && length == 512) { // the other put goes ahead
            held = {first.begin(), first.end()};
            held.insert(held.end(), second.begin(), second.end());
            return posted::complete;
        }
        if (what == flaw::keeps_back && to != rank() && to < size() && length <= region().size() &&
            offset <= region().size() - length && std::find(lost.begin(), lost.end(), to) == lost.end()) {
            kept.push_back({to, offset, {first.begin(), first.end()}});
            kept.back().bytes.insert(kept.back().bytes.end(), second.begin(), second.end());
            return posted::complete;
        }
        const posted result = end.put(to, offset, first, second, id);
        if (!held.empty() && length == 16)
            while (end.put(to, 64, held, {}, ~std::uint64_t{0}) == posted::would_block) end.poll({});
        if (what == flaw::reads_late && result == posted::pending && length > 16) early.push_back(id);
        return result;
    }
    posted flush(rank_t to, std::uint64_t id) requires(!keeps_byte_order) {
        hand_over();
        return what == flaw::early_flush ? posted::complete : end.flush(to, id);
    }
    exposure expose(std::span<std::byte> memory) {
        if (what == flaw::exposes_once && exposures++ != 0) return {};
        return end.expose(what == flaw::exposes_more ? std::span(memory.data(), memory.size() + 64) : memory);
    }
    void conceal(const exposure& e) {
        if (what != flaw::never_conceals) end.conceal(e);
    }
    posted put_exposed(rank_t to, exposure at, std::span<const std::byte> bytes, std::uint64_t id) {
        if (what == flaw::exposed_elsewhere && ++puts > 20) bytes = bytes.first(bytes.size() / 2);
        return end.put_exposed(to, at, bytes, id);
    }
    std::uint64_t landed(rank_t from) const {
        return end.landed(what == flaw::counts_others ? 0 : from) + (what == flaw::counts_early ? 1 : 0);
    }
    std::size_t poll(std::span<event> events) {
        hand_over();
        std::size_t found = 0;
        for (; found != events.size() && !early.empty(); early.pop_back()) {
            ended.push_back(early.back());
            events[found] = {};
            events[found].what = event::kind::complete;
            events[found++].id = early.back();
        }
        if (found != 0) return found;
        for (; found != events.size() && !more.empty(); more.pop_back()) events[found++] = more.back();
        if (found != 0) return found;
        std::array<event, 8> seen;
        const std::size_t came = end.poll(std::span(seen).first(std::min(events.size(), seen.size())));
        for (std::size_t i = 0; i != came; ++i) {
            const event& e = seen[i];
            if (e.id == ~std::uint64_t{0} || std::find(ended.begin(), ended.end(), e.id) != ended.end()) continue;
            if (e.what == event::kind::complete && what == flaw::silent) continue;
            if (e.what == event::kind::lost) {
                lost.push_back(e.peer);
                if (what == flaw::never_lost) continue;
                if (what == flaw::lost_twice) more.push_back(e);
            }
            events[found++] = e;
        }
        return found;
    }
    struct kept_put {
        rank_t to;
        std::uint64_t offset;
        std::vector<std::byte> bytes;
    };
    void hand_over() {
        for (kept_put& k : kept) {
            put_late.push_back(std::move(k.bytes)); // may be read until the end
            while (end.put(k.to, k.offset, put_late.back(), {}, ~std::uint64_t{0}) == posted::would_block) end.poll({});
        }
        kept.clear();
    }
    std::vector<kept_put> kept{};
    static inline std::deque<std::vector<std::byte>> put_late{};
    std::vector<std::byte> held{};
    std::vector<std::uint64_t> early{}, ended{};
    int exposures = 0;
};

// Keeps puts back until it polls, and says so; or says that they have left.
template <class World>
struct gathers : flawed<World> {
    bool lies;
    gathers(typename World::endpoint e, flaw f)
        : flawed<World>{std::move(e), flaw::keeps_back}, lies(f != flaw::none) {}
    gathers(gathers&&) = default;
    ~gathers() { this->hand_over(); }
    bool unsent() const { return !this->kept.empty(); }
    std::uint64_t accepted(rank_t) const { return this->puts; }
    std::uint64_t handed_over(rank_t) { return this->puts - (lies ? 0 : this->kept.size()); }
};

template <class World, template <class> class Model = flawed>
testing::remote_write_fault check(flaw what, std::uint64_t seed) {
    return testing::check_remote_writes(
        [&](rank_t ranks) {
            World world(ranks, {.seed = seed, .region_bytes = 8192, .refuse = 50});
            std::vector<Model<World>> ends;
            for (rank_t r = 0; r != ranks; ++r) ends.push_back(Model<World>{world.connect(r), what});
            if (what == flaw::dirty_region) ends[1].region()[100] = std::byte{1};
            return ends;
        },
        {.rounds = 200, .patience_polls = 5'000, .seed = seed});
}

} // namespace

TEMPLATE_TEST_CASE("remote writes: the rules hold, and whoever breaks one is found", "", simulated_regions,
                   scattered_regions) {
    using testing::remote_write_rule;
    const auto sentence = [](flaw what) { return check<TestType>(what, 7).rule; };
    for (std::uint64_t seed = 1; seed != 6; ++seed) {
        const auto fault = check<TestType>(flaw::none, seed);
        CAPTURE(seed, fault.sentence, fault.rank);
        CHECK(fault.rule == remote_write_rule::none);
        CHECK(check<TestType, gathers>(flaw::none, seed).rule == remote_write_rule::none);
    }
    CHECK(check<TestType, gathers>(flaw::keeps_back, 7).rule == remote_write_rule::handed_over);
    CHECK(sentence(flaw::dirty_region) == remote_write_rule::identity);
    CHECK(sentence(flaw::writes_beyond) == remote_write_rule::place);
    CHECK(sentence(flaw::puts_elsewhere) == remote_write_rule::place);
    CHECK(sentence(flaw::silent) == remote_write_rule::one_event);
    CHECK(sentence(flaw::reads_late) == remote_write_rule::own_bytes);
    CHECK(sentence(flaw::lost_twice) == remote_write_rule::loss);
    CHECK(sentence(flaw::never_lost) == remote_write_rule::loss);
    CHECK(sentence(flaw::puts_to_lost) == remote_write_rule::loss);
    CHECK(sentence(flaw::exposed_elsewhere) == remote_write_rule::exposed);
    CHECK(sentence(flaw::exposes_once) == remote_write_rule::exposed);
    CHECK(sentence(flaw::exposes_more) == remote_write_rule::concealed);
    CHECK(sentence(flaw::never_conceals) == remote_write_rule::concealed);
    CHECK(sentence(flaw::counts_early) == remote_write_rule::counted);
    CHECK(sentence(flaw::counts_others) == remote_write_rule::counted);
    CHECK(sentence(flaw::keeps_back) == remote_write_rule::handed_over);
    if (TestType::endpoint::keeps_byte_order)
        CHECK(sentence(flaw::word_first) == remote_write_rule::word_is_last);
    else
        CHECK(sentence(flaw::early_flush) == remote_write_rule::flush);
}
