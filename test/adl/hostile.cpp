// SPDX-License-Identifier: BSL-1.0
// Types of a user in whose namespace each name that bough calls is taken, by a function for anything that must not be called:
// every front door compiles with them. `check` makes hostile_names.hpp of the headers, and compiles this.
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/batch.hpp>
#include <bough/bough.hpp>
#include <bough/broadcast.hpp>
#include <bough/call/partial.hpp>
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/group.hpp>
#include <bough/multicast.hpp>
#include <bough/multicasts.hpp>
#include <bough/neighbour_allgather.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/neighbourhood.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/one_sided.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hostile {

using bough::block_t;
using bough::rank_t;

struct my_datum {
    long x = 0;
    friend constexpr bool operator==(const my_datum&, const my_datum&) = default;
};
struct my_coded_datum { // travels by a wire form
    long x = 0;
};
struct my_join_op {
    my_datum operator()(const my_datum& a, const my_datum& b) const { return {a.x + b.x}; }
    my_coded_datum operator()(const my_coded_datum& a, const my_coded_datum& b) const { return {a.x + b.x}; }
};
struct my_kernel_op : my_join_op {
    void combine(std::span<const my_datum> a, std::span<const my_datum> b, std::span<my_datum> out) const {
        for (std::size_t i = 0; i != out.size(); ++i) out[i] = {a[i].x + b[i].x};
    }
};
struct my_stateful_op {
    long more = 0;
    my_datum operator()(const my_datum& a, const my_datum& b) const { return {a.x + b.x + more}; }
};
struct my_lifted_op {
    struct lifted {
        long x;
    };
    template <class>
    using state_type = lifted;
    lifted lift(const my_datum& d) const { return {d.x}; }
    lifted operator()(const lifted& a, const lifted& b) const { return {a.x + b.x}; }
    my_datum lower(const lifted& s) const { return {s.x}; }
};

struct my_crown { // a tree shape: everybody below the root
    constexpr rank_t parent(rank_t v, rank_t) const { return v == 0 ? bough::no_rank : 0; }
    constexpr rank_t child_count(rank_t v, rank_t n) const { return v == 0 ? n - 1 : 0; }
    constexpr rank_t child(rank_t, rank_t, rank_t i) const { return i + 1; }
    constexpr bough::status check() const { return {}; }
    friend constexpr bool operator==(const my_crown&, const my_crown&) = default;
};
struct my_hub { // an algorithm of a broadcast
    static constexpr bool serves(std::uint8_t kind) { return kind == bough::goal::broadcast::kind; }
    constexpr void emit(const bough::dimensions& at, rank_t rank, bough::StepSink auto& out) const {
        const bough::slice whole{rank == at.root ? bough::input : bough::output, 0, at.blocks};
        if (rank != at.root) {
            out.receive(at.root, whole);
            return;
        }
        for (rank_t to = 0; to != at.size; ++to)
            if (to != at.root) out.send(to, whole);
    }
    constexpr block_t natural_blocks(rank_t) const { return 1; }
    constexpr block_t scratch(const bough::dimensions&, rank_t) const { return 0; }
    constexpr bough::status check(const bough::dimensions&) const { return {}; }
    friend constexpr bool operator==(const my_hub&, const my_hub&) = default;
};
struct my_prices { // a cost model
    double start_ns() const { return 0; }
    double send_ns(rank_t, rank_t, std::uint64_t) const { return 1; }
    double latency_ns(rank_t, rank_t, std::uint64_t) const { return 10; }
    double receive_ns(rank_t, rank_t, std::uint64_t) const { return 1; }
    double combine_ns(rank_t, std::uint64_t) const { return 1; }
    double copy_ns(rank_t, std::uint64_t) const { return 1; }
};

struct my_end : bough::in_process::endpoint {
    explicit my_end(bough::in_process::endpoint&& made) : endpoint(std::move(made)) {}
};
struct my_lines : bough::in_process_regions::endpoint {
    explicit my_lines(bough::in_process_regions::endpoint&& made) : endpoint(std::move(made)) {}
};

template <class T>
struct my_row { // a contiguous range
    std::vector<T> kept;
    T* data() { return kept.data(); }
    const T* data() const { return kept.data(); }
    std::size_t size() const { return kept.size(); }
    T* begin() { return data(); }
    T* end() { return data() + size(); }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size(); }
};

} // namespace hostile

template <>
struct bough::wire<hostile::my_coded_datum> {
    static constexpr std::size_t size = 8;
    static void encode(const hostile::my_coded_datum& value, std::span<std::byte, size> out) {
        std::memcpy(out.data(), &value.x, size);
    }
    static hostile::my_coded_datum decode(std::span<const std::byte, size> in) {
        hostile::my_coded_datum made;
        std::memcpy(&made.x, in.data(), size);
        return made;
    }
};
template <>
inline constexpr bool bough::is_commutative_v<hostile::my_join_op> = true;

namespace hostile {
#include "hostile_names.hpp"
} // namespace hostile

namespace {

using namespace hostile;

// The names of collectives are objects: without a qualifier, too, they are not looked for among functions of the user's.
[[maybe_unused]] void unqualified(bough::communicator<my_end>& comm, my_row<my_datum>& data, my_join_op op) {
    using bough::allreduce, bough::reduce, bough::start_reduce;
    allreduce(comm, data, op);
    reduce(comm, data, op, bough::root{0});
    start_reduce(comm, data, op, bough::root{0}).wait();
    start_reduce(comm, data, op, bough::root{0}, bough::automatic{.late_ranks = true}).wait();
}

template <class T, class O, class Comm>
void doors(Comm& comm, const O& op) {
    const rank_t p = comm.size();
    my_row<T> a{std::vector<T>(4 * p)}, b{std::vector<T>(4 * p)}, one{std::vector<T>(4)};
    std::vector<std::size_t> counts(p, 4);
    std::span<const T> in(a.data(), a.size());
    std::span<T> out(b.data(), b.size());
    const bough::root to{0};
    bough::status s;
    std::error_code ec;
    bough::allreduce(comm, a, op);
    bough::allreduce(comm, a, b, op);
    bough::allreduce(comm, in, out, op, s);
    bough::allreduce(comm, in, out, op, my_crown{}, ec);
    bough::allreduce(comm, in, out, op, bough::recursive_doubling{}, s);
    bough::allreduce(comm, in, out, op, bough::partial{.at_least = 1}, s);
    bough::reduce(comm, a, op, to);
    bough::reduce(comm, a, b, op, to, my_crown{}, s);
    bough::scan(comm, a, op);
    bough::scan(comm, a, b, op, s);
    bough::exscan(comm, a, op);
    bough::exscan(comm, a, b, op, s);
    bough::reduce_scatter(comm, a, one, op);
    bough::reduce_scatterv(comm, a, one, counts, op, s);
    (void)bough::start_allreduce(comm, a, op).wait();
    (void)bough::start_allreduce(comm, a, b, op, my_crown{}).wait();
    (void)bough::start_reduce(comm, a, b, op, to).wait();
    (void)bough::start_scan(comm, a, b, op).wait();
    (void)bough::start_exscan(comm, a, b, op).wait();
    (void)bough::start_reduce_scatter(comm, a, one, op).wait();
    (void)bough::start_reduce_scatterv(comm, a, one, counts, op).wait();
    auto again = bough::bind_allreduce(comm, a, op);
    again.start();
    again.wait();
    auto rooted = bough::bind_reduce(comm, a, b, op, to);
    rooted.start();
    rooted.wait();
    bough::batch all;
    all.add(a, op).add(b, op);
    bough::allreduce(comm, all);
    (void)bough::start_reduce(comm, all, to).wait();
}

template <class T, class Comm>
void movers(Comm& comm) {
    const rank_t p = comm.size();
    my_row<T> a{std::vector<T>(4 * p)}, b{std::vector<T>(4 * p)}, one{std::vector<T>(4)};
    std::vector<std::size_t> counts(p, 4);
    const bough::root from{0};
    bough::status s;
    bough::broadcast(comm, a, from);
    bough::broadcast(comm, a, from, my_hub{}, s);
    bough::broadcast(comm, a, from, my_crown{});
    bough::gather(comm, one, a, from);
    bough::gatherv(comm, one, a, counts, from, s);
    bough::gatherv(comm, one, a, counts, from, my_crown{}, s);
    bough::scatter(comm, a, one, from);
    bough::scatterv(comm, a, one, counts, from, s);
    bough::scatterv(comm, a, one, counts, from, my_crown{}, s);
    bough::allgather(comm, one, a);
    bough::allgatherv(comm, one, a, counts, s);
    bough::alltoall(comm, a, b);
    bough::alltoallv(comm, a, counts, b, counts, s);
    bough::alltoallv(comm, a, counts, b, counts, bough::at_most{4}, s);
    const bough::neighbourhood none = bough::graph_neighbours{.destinations = {{}}};
    bough::neighbour_allgather(comm, one, a, none, s);
    bough::neighbour_alltoall(comm, a, b, none, s);
    bough::neighbour_alltoallv(comm, a, counts, b, counts, none, s);
    bough::neighbour_alltoallv(comm, a, counts, b, none, s);
    (void)bough::gather_neighbourhood(comm, std::span<const rank_t>(), std::span<const rank_t>(), s);
    bough::barrier(comm);
    (void)bough::start_broadcast(comm, a, from).wait();
    (void)bough::start_gather(comm, one, a, from).wait();
    (void)bough::start_gatherv(comm, one, a, counts, from).wait();
    (void)bough::start_scatter(comm, a, one, from).wait();
    (void)bough::start_scatterv(comm, a, one, counts, from).wait();
    (void)bough::start_allgather(comm, one, a).wait();
    (void)bough::start_allgatherv(comm, one, a, counts).wait();
    (void)bough::start_alltoall(comm, a, b).wait();
    (void)bough::start_alltoallv(comm, a, counts, b, counts).wait();
    (void)bough::start_neighbour_allgather(comm, one, a, none).wait();
    (void)bough::start_neighbour_alltoall(comm, a, b, none).wait();
    (void)bough::start_neighbour_alltoallv(comm, a, counts, b, counts, none).wait();
    (void)bough::start_barrier(comm).wait();
    auto again = bough::bind_broadcast(comm, a, from);
    again.start();
    again.wait();
}

template <class Link>
void everything(Link link) {
    bough::communicator comm{std::move(link), {.costs = my_prices{}}};
    doors<my_datum>(comm, my_join_op{});
    doors<my_datum>(comm, my_kernel_op{});
    doors<my_datum>(comm, my_stateful_op{});
    doors<my_datum>(comm, my_lifted_op{});
    doors<my_coded_datum>(comm, my_join_op{});
    movers<my_datum>(comm);
    movers<my_coded_datum>(comm);
    auto other = bough::duplicate(comm);
    auto part = bough::split(comm, 1);
    (void)bough::agree(comm, 1);
    auto rest = bough::shrink(other);
}

void the_rest() {
    const auto plan = bough::plan_broadcast(my_hub{}, {.size = 4});
    (void)bough::verify(plan);
    (void)bough::verify(bough::plan_allreduce(my_crown{}, {.size = 4}));
    bough::in_process_regions lines_of{1, {.region_bytes = 1 << 20}};
    everything(bough::one_sided{my_lines(lines_of.connect(0))});
}

} // namespace

int main() {
    bough::in_process world{1};
    everything(my_end(world.connect(0)));
    the_rest();
}
