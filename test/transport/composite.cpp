// SPDX-License-Identifier: BSL-1.0
// The rules of a transport over composites of transports of one process, and what belongs to a composite
// alone.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/explain_transport.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/model/two_level.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/select/choose.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/composite.hpp>
#include <bough/transport/composite/nodes.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/binomial.hpp>

#include <array>
#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using end = in_process::endpoint;

// A transport without claim(): what it has of it is its payloads at `data`, as long as nobody takes them
// back.
struct taken_only {
    end inner;
    rank_t rank() const noexcept { return inner.rank(); }
    rank_t size() const noexcept { return inner.size(); }
    std::uint64_t now_ns() const noexcept { return inner.now_ns(); }
    posted post_send(rank_t to, const envelope& e, std::span<const std::byte> bytes, std::uint64_t id) {
        return inner.post_send(to, e, bytes, id);
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return inner.take(handle, into, id);
    }
    void release(std::uint64_t handle) { inner.release(handle); }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner.poll(events);
        for (event& e : events.first(found)) e.data = nullptr; // to be taken, always
        return found;
    }
    errc cancel(std::uint64_t id) { return inner.cancel(id); }
};
static_assert(Transport<taken_only> && !InPlaceTransport<taken_only> && !WaitableTransport<taken_only>);

using two = composite<end, end>;
static_assert(explain_transport<two>() && explain_in_place_transport<two>() && explain_waitable_transport<two>());
static_assert(std::is_move_constructible_v<two> && !std::is_copy_constructible_v<two>);
static_assert(InPlaceTransport<composite<taken_only, end>> && InPlaceTransport<composite<end, taken_only>>);
static_assert(!InPlaceTransport<composite<taken_only, taken_only>>);
static_assert(!WaitableTransport<composite<self, self>> && WaitableTransport<composite<self, end>>);

// The ends of a group, in order of rank; each group has a world of its own.
template <class Inside, class Between>
std::vector<composite<Inside, Between>> ends_of(const listed_groups& groups, const in_process_options& options = {}) {
    const auto ranks = static_cast<rank_t>(groups.group_of_rank().size());
    in_process all{ranks, options};
    std::vector<in_process> parts;
    for (rank_t g = 0; g != groups.groups(ranks); ++g) parts.emplace_back(groups.members(ranks, g), options);
    std::vector<composite<Inside, Between>> ends;
    for (rank_t r = 0; r != ranks; ++r)
        ends.emplace_back(Inside{parts[groups.group_of(ranks, r)].connect(groups.place_of(ranks, r))},
                          Between{all.connect(r)}, groups);
    return ends;
}

template <class Inside, class Between>
void keeps_the_rules(const std::vector<rank_t>& group_of_rank, const in_process_options& options = {}) {
    const auto fault = testing::check_transport(
        [&](rank_t ranks) {
            auto list = group_of_rank; // some checks are of more ranks
            while (list.size() < ranks) list.push_back(list.back());
            list.resize(ranks);
            return ends_of<Inside, Between>(listed_groups(list), options);
        },
        {.ranks = static_cast<rank_t>(group_of_rank.size()), .messages = bough_test::all() ? 10'000u : 1'000u});
    CAPTURE(fault.sentence, fault.rank, group_of_rank, options.slots);
    CHECK(fault.rule == testing::transport_rule::none);
}

// An inner transport that counts, and says what a test wants it to say.
struct scripted {
    rank_t me = 0, ranks = 2;
    std::vector<event> due{};
    bool endless = false; // a message of peer `1 - me` at every poll
    bool has_memory = true;
    std::uint64_t clock = 0;
    std::uint32_t polls = 0;
    std::vector<std::uint64_t> released{};
    rank_t rank() const { return me; }
    rank_t size() const { return ranks; }
    std::uint64_t now_ns() const { return clock; }
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) { return posted::complete; }
    posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::complete; }
    void release(std::uint64_t handle) { released.push_back(handle); }
    std::size_t poll(std::span<event> events) {
        ++polls;
        if (!has_memory) throw std::bad_alloc();
        std::size_t found = 0;
        for (; found != events.size() && endless; ++found) events[found] = message(1 - me, 8);
        for (; found != events.size() && !due.empty(); ++found) {
            events[found] = due.front();
            due.erase(due.begin());
        }
        return found;
    }
    errc cancel(std::uint64_t) { return errc::invalid_argument; }
    static event message(rank_t from, std::uint64_t handle) {
        event e;
        e.peer = from;
        e.id = handle;
        return e;
    }
    static event loss(rank_t of) {
        event e;
        e.what = event::kind::lost;
        e.peer = of;
        return e;
    }
};
static_assert(Transport<scripted>);

// Rank 1 of four; rank 2 is in its group.
composite<scripted, scripted> scripted_pair() {
    return {scripted{.me = 0, .ranks = 2}, scripted{.me = 1, .ranks = 4}, listed_groups({0, 1, 1, 2})};
}
std::vector<event> poll_all(auto& link, std::size_t room = 4) {
    std::vector<event> seen;
    std::vector<event> events(room);
    for (int i = 0; i != 16; ++i)
        for (std::size_t n = link.poll(events), k = 0; k != n; ++k) seen.push_back(events[k]);
    return seen;
}

} // namespace

TEST_CASE("composite: keeps the rules of a transport, however its ranks are grouped") {
    const std::vector<std::vector<rank_t>> groupings{{0, 0, 1}, {0, 1, 0}, {0, 0, 0}, {0, 1, 2}, {0, 1, 1, 0, 1}};
    for (const auto& groups : groupings)
        for (const std::uint32_t slots : {1u, 8u}) keeps_the_rules<end, end>(groups, {.slots = slots});
}
TEST_CASE("composite: keeps them where one of the two reads in place, or none") {
    for (const std::vector<rank_t>& groups : {std::vector<rank_t>{0, 0, 1}, {0, 1, 1}}) {
        keeps_the_rules<taken_only, end>(groups);
        keeps_the_rules<end, taken_only>(groups);
        keeps_the_rules<taken_only, taken_only>(groups);
    }
}
TEST_CASE("composite: keeps them as a part of a composite") {
    // Five ranks: racks {0, 1, 2} and {3, 4}, in the first of which 0 and 1 share a node.
    const listed_groups racks({0, 0, 0, 1, 1});
    const auto fault = testing::check_transport(
        [&](rank_t) {
            in_process all{5}, rack{3}, other_rack{2}, node{2}, alone{1}, third{1}, fourth{1};
            std::vector<composite<two, end>> ends;
            const listed_groups first({0, 0, 1}), second({0, 1});
            ends.emplace_back(two(node.connect(0), rack.connect(0), first), all.connect(0), racks);
            ends.emplace_back(two(node.connect(1), rack.connect(1), first), all.connect(1), racks);
            ends.emplace_back(two(alone.connect(0), rack.connect(2), first), all.connect(2), racks);
            ends.emplace_back(two(third.connect(0), other_rack.connect(0), second), all.connect(3), racks);
            ends.emplace_back(two(fourth.connect(0), other_rack.connect(1), second), all.connect(4), racks);
            return ends;
        },
        {.ranks = 5, .messages = 1'000u});
    CAPTURE(fault.sentence, fault.rank);
    CHECK(fault.rule == testing::transport_rule::none);
}

TEST_CASE("composite: a rank's loss is told once, by the transport of its messages") {
    auto link = scripted_pair();
    link.between().due = {scripted::loss(2), scripted::loss(3)}; // rank 2 is inside: its last words may be to come
    auto seen = poll_all(link);
    REQUIRE(seen.size() == 1);
    CHECK((seen[0].what == event::kind::lost && seen[0].peer == 3));
    link.inside().due = {scripted::message(1, 5), scripted::loss(1)};
    seen = poll_all(link);
    REQUIRE(seen.size() == 2);
    CHECK((seen[0].what == event::kind::arrived && seen[0].peer == 2));
    CHECK((seen[1].what == event::kind::lost && seen[1].peer == 2));
}
TEST_CASE("composite: arrivals of both have handles of their own") {
    auto link = scripted_pair();
    constexpr std::uint64_t largest = (std::uint64_t{1} << 61) - 1;
    link.inside().due = {scripted::message(1, 5), scripted::message(1, largest)};
    link.between().due = {scripted::message(0, 5), scripted::message(3, largest)};
    std::vector<std::uint64_t> handles;
    for (const event& e : poll_all(link)) {
        CHECK(e.id < std::uint64_t{1} << 63);
        handles.push_back(e.id);
        link.release(e.id);
    }
    std::sort(handles.begin(), handles.end());
    CHECK(std::unique(handles.begin(), handles.end()) == handles.end());
    CHECK(handles.size() == 4);
    CHECK(link.inside().released == std::vector<std::uint64_t>{5, largest});
    CHECK(link.between().released == std::vector<std::uint64_t>{5, largest});
}
TEST_CASE("composite: neither transport keeps the other from being heard") {
    for (const bool flood_inside : {true, false})
        for (const std::size_t room : {1u, 8u}) {
            auto link = scripted_pair();
            (flood_inside ? link.inside() : link.between()).endless = true;
            for (int i = 0; i != 100; ++i) {
                std::vector<event> events(room);
                (flood_inside ? link.between() : link.inside()).due.push_back(scripted::message(1, 77));
                std::uint32_t turns = 0;
                for (bool heard = false; !heard && turns != 1000; ++turns)
                    for (std::size_t n = link.poll(events), k = 0; k != n; ++k) heard |= events[k].id >> 2 == 77;
                CHECK(turns <= 2);
            }
        }
}
TEST_CASE("composite: what one of the two has found is told where the other one has no memory") {
    for (const bool inside_lacks : {false, true}) {
        scripted inside{.me = 0, .ranks = 2}, between{.me = 1, .ranks = 4};
        (inside_lacks ? inside : between).has_memory = false;
        for (std::uint64_t i = 1; i <= 4; ++i)
            (inside_lacks ? between : inside).due.push_back(scripted::message(inside_lacks ? 0 : 1, i));
        composite<scripted, scripted> link{std::move(inside), std::move(between), listed_groups({0, 1, 1, 2})};
        std::array<event, 1> events;
        std::vector<std::uint64_t> seen;
        std::size_t thrown = 0;
        for (int i = 0; i != 16; ++i) try {
                if (link.poll(events) != 0) seen.push_back(events[0].id >> 2);
            } catch (const std::bad_alloc&) {
                ++thrown;
            }
        CAPTURE(inside_lacks);
        CHECK(seen == std::vector<std::uint64_t>{1, 2, 3, 4});
        CHECK(thrown >= 8); // so the caller hears of it
    }
}

TEST_CASE("composite: a quiet transport costs an eighth of the polls, and is heard all the same") {
    auto link = scripted_pair();
    link.inside().endless = true;
    std::array<event, 4> events;
    for (int i = 0; i != 32 + 800; ++i) link.poll(events);
    // Of a poll that the other one fills it has no part.
    CHECK(link.between().polls < 32 + 150);
    link.inside().endless = false;
    link.between().due.push_back(scripted::message(3, 9));
    std::size_t found = 0;
    int polls = 0;
    for (; found == 0 && polls != 100; ++polls) found = link.poll(events);
    CHECK(found == 1);
    CHECK(polls <= 16);
    // Who polls seldom does not wait for the eighth poll.
    for (int i = 0; i != 100; ++i) link.poll(events);
    const std::uint32_t before = link.between().polls;
    for (int i = 0; i != 10; ++i) {
        link.between().clock += 3'000;
        link.poll(events);
    }
    CHECK(link.between().polls - before == 10);
}
TEST_CASE("composite: a transport without peers is left alone") {
    composite<scripted, scripted> all_inside(scripted{.me = 1, .ranks = 3}, scripted{.me = 1, .ranks = 3},
                                             listed_groups({0, 0, 0}));
    composite<scripted, scripted> none_inside(scripted{.me = 0, .ranks = 1}, scripted{.me = 1, .ranks = 3},
                                              listed_groups({0, 1, 2}));
    std::array<event, 4> events;
    for (int i = 0; i != 100; ++i) {
        all_inside.poll(events);
        none_inside.poll(events);
    }
    CHECK((all_inside.inside().polls == 100 && all_inside.between().polls == 0));
    CHECK((none_inside.inside().polls == 0 && none_inside.between().polls == 100));
}

TEST_CASE("composite: waiting ends with a message of either") {
    const listed_groups groups({0, 0, 1});
    auto ends = ends_of<end, end>(groups);
    std::array<event, 4> events;
    for (const rank_t from : {1u, 2u}) {
        std::atomic<std::uint64_t> sent_ns{0};
        std::thread sender([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(60)); // the other one naps
            sent_ns = ends[from].now_ns();
            CHECK(ends[from].post_send(0, {}, {}, 1) == posted::complete);
        });
        std::size_t found = 0;
        const std::uint64_t begin = ends[0].now_ns(), last = begin + 5'000'000'000;
        for (std::uint32_t idle = 1; found == 0 && ends[0].now_ns() < last; ++idle) {
            found = ends[0].poll(events);
            if (found == 0) ends[0].wait(idle, last);
        }
        const std::uint64_t heard_ns = ends[0].now_ns();
        sender.join();
        REQUIRE(found == 1);
        CHECK(events[0].peer == from);
        CHECK(heard_ns - sent_ns < 500'000'000);
        ends[0].release(events[0].id);
    }
}

TEST_CASE("composite: plans of two levels over its groups") {
    for (const std::vector<rank_t>& of_rank : {std::vector<rank_t>{0, 0, 0, 1, 1, 1}, {0, 1, 0, 1, 0, 1}}) {
        const listed_groups groups(of_rank);
        auto ends = ends_of<end, end>(groups);
        std::vector<std::thread> threads;
        std::atomic<int> wrong{0};
        for (auto& each : ends)
            threads.emplace_back([&] {
                communicator comm{std::move(each)};
                const listed_groups nodes = comm.transport().groups();
                for (const std::size_t count : {1u, 6u, 1000u, 30'000u}) {
                    const auto sum = [&](const auto& choice) {
                        std::vector<long> x(count, 1 + static_cast<long>(comm.rank()));
                        status s;
                        allreduce(comm, std::span(x), plus{}, choice, s);
                        wrong += s || std::count(x.begin(), x.end(), 21) != std::ssize(x);
                    };
                    sum(compose(ring{}, ring{}, nodes));
                    sum(compose_leaders(binomial{}, recursive_doubling{}, nodes));
                    sum(automatic{});
                }
            });
        for (std::thread& t : threads) t.join();
        CHECK(wrong == 0);
    }
}

// --- Costs
// -----------------------------------------------------------------------------------------------------------

namespace {

// An end with the costs of another transport.
template <const bough::detail::measured_costs& Costs>
struct with_costs : forwarding_transport<end> {
    using forwarding_transport::forwarding_transport;
    static model::loggops default_costs() noexcept { return Costs.model; }
};

} // namespace

TEST_CASE("composite: states its groups, and what both parts cost") {
    const listed_groups nodes{{0, 0, 1, 1}};
    const auto ends =
        ends_of<with_costs<bough::detail::shared_memory_costs>, with_costs<bough::detail::tcp_costs>>(nodes);
    const auto levels = ends[1].levels();
    CHECK(levels->groups() == nodes);
    const auto ring = plan_allreduce(bough::ring{}, {.size = 4});
    const problem what{.bytes = 4096};
    const model::two_level both{bough::detail::shared_memory_costs.model, bough::detail::tcp_costs.model,
                                nodes.group_of_rank().data()};
    CHECK(levels->costs().price_ns(plan_ref(ring), what) == price_of(both, what, ring));
    CHECK(any_cost_model(ends[1].default_costs()).price_ns(plan_ref(ring), what) ==
          price_of(bough::detail::tcp_costs.model, what, ring));
}

// --- Joining
// -----------------------------------------------------------------------------------------------------------

namespace {

// Runs f(wire) on a thread per rank.
template <class F>
void over_wires(rank_t ranks, const F& f) {
    testing::thread_wire_up world{ranks};
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            f(wire);
        });
    for (std::thread& t : threads) t.join();
}
constexpr std::uint64_t patience_ns = 10'000'000'000;

} // namespace

TEST_CASE("composite: ranks of one name share a node") {
    CHECK(!node_name().empty());
    CHECK(node_name() == node_name());
    CHECK(node_name().size() <= most_node_name_bytes);
    const std::vector<std::string_view> names{"b", "a", "b", "c", "a", "b"};
    CHECK(groups_of_names(names).group_of_rank() == std::vector<rank_t>{0, 1, 0, 2, 1, 0});
    std::array<status, 3> ended{};
    std::array<listed_groups, 3> groups;
    over_wires(3, [&](auto& wire) {
        ended[wire.rank()] =
            exchange_nodes(wire, wire.rank() == 1 ? "x" : node_name(), patience_ns, groups[wire.rank()]);
    });
    for (rank_t r = 0; r != 3; ++r) {
        CHECK(!ended[r]);
        CHECK(groups[r].group_of_rank() == std::vector<rank_t>{0, 1, 0});
    }
    over_wires(3, [&](auto& wire) {
        const std::string too_long(most_node_name_bytes + 1, 'x');
        ended[wire.rank()] = exchange_nodes(wire, wire.rank() == 1 ? too_long : "x", patience_ns, groups[wire.rank()]);
    });
    CHECK(ended[1].code == errc::invalid_argument);
    for (const rank_t r : {0u, 2u}) CHECK((ended[r].code == errc::peer_aborted && ended[r].peer == 1));
}
