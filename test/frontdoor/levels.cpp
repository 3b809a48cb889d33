// SPDX-License-Identifier: BSL-1.0
// Communicators that know which ranks are near each other choose plans of two levels, also among some of
// the ranks.
#include "support/catch.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/group.hpp>
#include <bough/select/standard/two_levels.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/measured_costs.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using end = in_process::endpoint;

const listed_groups three_nodes{{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}};

std::shared_ptr<const two_levels> levels_of(const listed_groups& groups) {
    return make_two_levels(groups, bough::detail::shared_memory_costs.model, bough::detail::tcp_costs.model);
}

// Counts the messages that leave their node.
class counting_far : public forwarding_transport<end> {
public:
    counting_far(end inner, std::atomic<int>& far) : forwarding_transport(std::move(inner)), far_(&far) {}
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (three_nodes.group_of(12, rank()) != three_nodes.group_of(12, to)) ++*far_;
        return forwarding_transport::post_send(to, tag, bytes, id);
    }

private:
    std::atomic<int>* far_;
};

// The same, and it states the nodes.
class knowing_nodes : public counting_far {
public:
    using counting_far::counting_far;
    std::shared_ptr<const two_levels> levels() const { return levels_of(three_nodes); }
};
static_assert(KnowsLevels<knowing_nodes> && !KnowsLevels<counting_far>);

template <class T>
int far_messages(communicator_options options) {
    std::atomic<int> far{0}, wrong{0};
    in_process{12}.run([&](auto transport) {
        communicator comm{T{std::move(transport), far}, options};
        std::vector<std::uint64_t> mine(64, comm.rank()), all(12 * 64);
        allgather(comm, std::span<const std::uint64_t>(mine), std::span(all));
        for (std::size_t i = 0; i != all.size(); ++i) wrong += all[i] != i / 64;
    });
    CHECK(wrong == 0);
    return far;
}

} // namespace

TEST_CASE("levels: the choice of a communicator goes by what its transport or its options say") {
    const int blind = far_messages<counting_far>({.costs = bough::detail::tcp_costs.model});
    const int told = far_messages<counting_far>({.levels = levels_of(three_nodes)});
    const int stated = far_messages<knowing_nodes>({});
    CAPTURE(blind);
    CHECK(told == 24); // lanes: each rank sends twice across three nodes
    CHECK(stated == told);
    CHECK(blind > told);
}

TEST_CASE("levels: of an alltoall few messages leave a node, also if blocks differ in length") {
    const auto far_of = [](communicator_options options, bool in_lengths) {
        std::atomic<int> far{0}, wrong{0};
        in_process{12}.run([&](auto transport) {
            communicator comm{counting_far{std::move(transport), far}, options};
            const rank_t me = comm.rank();
            std::vector<std::uint32_t> in, expected;
            std::vector<std::size_t> send(12, 2), receive(12, 2);
            for (rank_t other = 0; other != 12; ++other) {
                if (in_lengths) send[other] = (me + other) % 3, receive[other] = (me + other) % 3;
                in.insert(in.end(), send[other], me * 12 + other);
                expected.insert(expected.end(), receive[other], other * 12 + me);
            }
            std::vector<std::uint32_t> out(expected.size());
            const std::span<const std::uint32_t> mine(in);
            if (in_lengths)
                alltoallv(comm, mine, send, std::span(out), receive, at_most{2});
            else
                alltoall(comm, mine, std::span(out));
            wrong += out != expected;
        });
        CHECK(wrong == 0);
        return far.load();
    };
    for (const bool in_lengths : {false, true}) {
        CAPTURE(in_lengths);
        const int blind = far_of({.costs = bough::detail::tcp_costs.model}, in_lengths);
        const int told = far_of({.levels = levels_of(three_nodes)}, in_lengths);
        CHECK(told == 6); // one from each node to each other
        CHECK(blind > told);
    }
}

TEST_CASE("levels: some of the ranks know the nodes among them") {
    std::atomic<int> far{0}, wrong{0};
    in_process{12}.run([&](auto transport) {
        communicator world{knowing_nodes{std::move(transport), far}};
        const auto groups_of = [](const auto& comm) { return comm.options().levels->groups(); };
        wrong += !(groups_of(world) == three_nodes);
        wrong += world.options().costs.homogeneous();
        auto twin = duplicate(world);
        wrong += !(groups_of(twin) == three_nodes);
        auto odd = split(world, world.rank() % 2, 12 - world.rank()); // from the last to the first
        wrong += !(groups_of(odd) == listed_groups{{0, 0, 1, 1, 2, 2}});
        auto node = split(world, world.rank() / 4);
        wrong += !node.options().costs.homogeneous(); // all near
        auto of_odd = split(odd, odd.rank() == 0 || odd.rank() == 2 || odd.rank() == 3);
        wrong += !(groups_of(of_odd) == listed_groups{{0, 1, 1}}); // nodes 0 1 1, and 0 2 2
        // All of them work, for any root.
        const auto try_all = [&](auto& comm) {
            for (const std::size_t count : {std::size_t{1}, std::size_t{5000}}) {
                std::vector<std::uint64_t> x(count, comm.rank() + 1);
                allreduce(comm, std::span(x), plus{});
                wrong += x.back() != std::uint64_t{comm.size()} * (comm.size() + 1) / 2;
                for (rank_t from = 0; from != comm.size(); ++from) {
                    std::vector<std::uint64_t> y(count, comm.rank());
                    broadcast(comm, std::span(y), root{from});
                    wrong += y.front() != from || y.back() != from;
                }
            }
        };
        try_all(world), try_all(twin), try_all(odd), try_all(node), try_all(of_odd);
        // A program's own costs are taken along; without them each communicator has those of its ranks.
        world.set_costs(bough::detail::tcp_costs.model);
        auto told = split(world, world.rank() / 4);
        wrong += !told.options().costs.homogeneous();
        world.set_costs({});
        wrong += world.options().costs.homogeneous();
        auto again = duplicate(world);
        wrong += again.options().costs.homogeneous();
    });
    CHECK(wrong == 0);
}

namespace {

struct may_know_nodes : forwarding_transport<end> {
    using forwarding_transport::forwarding_transport;
    std::shared_ptr<const two_levels> levels() const { return nullptr; }
};

} // namespace

TEST_CASE("levels: a transport that could know the nodes need not") {
    std::atomic<int> wrong{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{may_know_nodes{std::move(transport)}};
        communicator pair = split(comm, comm.rank() % 2);
        int ranks = 1;
        allreduce(pair, std::span(&ranks, 1), plus{});
        wrong += ranks != 2;
    });
    CHECK(wrong == 0);
}
