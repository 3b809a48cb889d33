// SPDX-License-Identifier: BSL-1.0
// Collectives on elements whose type and op are known at run time only: every collective in every layout, with every kind
// of op, against a fold in rank order.
#include "frontdoor/run_time.hpp"

#include "support/catch.hpp"
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/run_time.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace test;
using namespace bough;
using endpoint = in_process::endpoint;

constexpr rank_t sizes[] = {1, 2, 3, 4, 5, 8};

// The first fault of a rank, in words.
struct faults {
    std::string first;
    void note(bool right, const std::string& what) {
        if (!right && first.empty()) first = what;
    }
};

// Runs a collective blocking, started, and bound and started twice: fill(round) before, right(round) after each.
template <class Door, class Start, class Bind, class Fill, class Right, class... A>
void every_way(faults& found, const std::string& name, communicator<endpoint>& comm, const Door& door,
               const Start& start, const Bind& bind, Fill&& fill, Right&& right, const A&... arguments) {
    status s;
    fill(1);
    door(comm, arguments..., s);
    found.note(!s && right(1), name + ": " + message_of(s));
    fill(2);
    start(comm, arguments...).wait(s);
    found.note(!s && right(2), "start_" + name + ": " + message_of(s));
    persistent_operation bound = bind(comm, arguments...);
    for (std::uint64_t round = 3; round != 5; ++round) {
        fill(round);
        bound.start();
        bound.wait(s);
        found.note(!s && right(round), "bind_" + name + ": " + message_of(s));
    }
}

std::string named(const char* what, layout in, layout out, int op) {
    return std::string(what) + " " + std::to_string(static_cast<int>(in)) + " " +
           std::to_string(static_cast<int>(out)) + " op " + std::to_string(op);
}

any_op three_operands() {
    any_op made = make_any_op<affine_map>(compose{});
    made.id = 99;
    return made;
}

// Calls f(op, sums) with each kind of op on elements that lie as `type` says.
template <class F>
void each_op(const image& on, bool alike, F&& f) {
    int number = 0;
    for (const bool sums : {false, true}) {
        seen packed{.sums = sums};
        f(
            run_time_op{
                .function = combine_affine, .context = &packed, .commutative = sums, .exact = true, .identity = 7},
            sums, number++);
        const run_time_type& t = on.type();
        if (t.pack != nullptr || !alike) continue;
        seen in_memory{.sums = sums};
        in_memory.extent = t.extent == 0 ? 16 : t.extent;
        if (!t.pieces.empty()) in_memory.a = t.pieces[0].offset, in_memory.b = t.pieces[1].offset;
        f(run_time_op{.function = combine_affine,
                      .context = &in_memory,
                      .commutative = sums,
                      .as_in_memory = true,
                      .identity = 8},
          sums, number++);
    }
    f(three_operands(), false, number++);
}

// allreduce, reduce, scan and exscan of `n` elements, in layouts `one` and `two`, and in place.
void vectors(faults& found, communicator<endpoint>& comm, std::size_t n, layout one, layout two) {
    const rank_t p = comm.size(), r = comm.rank();
    image in(one, n), out(two, n), both(one, n);
    each_op(in, one == two, [&]<class O>(const O& op, bool sums, int number) {
        const auto fill = [&](std::uint64_t round) {
            for (std::size_t i = 0; i != n; ++i) {
                in.set(i, value_of(r, i, round));
                both.set(i, value_of(r, i, round));
                out.set(i, {1, 2});
            }
        };
        const auto check = [&](image& x, rank_t last, bool written, std::uint64_t round) {
            bool right = in.is_clean() && out.is_clean() && both.is_clean();
            for (std::size_t i = 0; i != n; ++i) {
                right &= in.get(i) == value_of(r, i, round);
                if (written)
                    right &= x.get(i) == fold(0, last, i, round, sums);
                else
                    right &= x.get(i) == (&x == &out ? affine_map{1, 2} : value_of(r, i, round));
            }
            return right;
        };
        const auto into = [&](rank_t last, bool written = true) {
            return [&, last, written](std::uint64_t round) { return check(out, last, written, round); };
        };
        const auto in_place = [&](rank_t last, bool written = true) {
            return [&, last, written](std::uint64_t round) { return check(both, last, written, round); };
        };
        const const_elements from = in.input(n);
        every_way(found, named("allreduce", one, two, number), comm, allreduce, start_allreduce, bind_allreduce, fill,
                  into(p), from, out.all(), op);
        every_way(found, named("allreduce in place", one, two, number), comm, allreduce, start_allreduce,
                  bind_allreduce, fill, in_place(p), both.all(), op);
        every_way(found, named("scan", one, two, number), comm, scan, start_scan, bind_scan, fill, into(r + 1), from,
                  out.all(), op);
        every_way(found, named("scan in place", one, two, number), comm, scan, start_scan, bind_scan, fill,
                  in_place(r + 1), both.all(), op);
        every_way(found, named("exscan", one, two, number), comm, exscan, start_exscan, bind_exscan, fill,
                  into(r, r != 0), from, out.all(), op);
        every_way(found, named("exscan in place", one, two, number), comm, exscan, start_exscan, bind_exscan, fill,
                  in_place(r, r != 0), both.all(), op);
        for (const rank_t at : {rank_t{0}, p - 1}) {
            every_way(found, named("reduce", one, two, number), comm, reduce, start_reduce, bind_reduce, fill,
                      into(p, r == at), from, out.all(), op, root{at});
            every_way(
                found, named("reduce in place", one, two, number), comm, reduce, start_reduce, bind_reduce, fill,
                [&, at](std::uint64_t round) { return r != at || check(both, p, true, round); }, both.all(), op,
                root{at});
        }
    });
    for (const rank_t at : {rank_t{0}, p - 1}) {
        // The root describes its elements otherwise than the others do.
        image mine(r == at ? one : two, n);
        const auto fill = [&](std::uint64_t round) {
            for (std::size_t i = 0; i != n; ++i) mine.set(i, value_of(r, i, round));
        };
        const auto right = [&](std::uint64_t round) {
            bool is = mine.is_clean();
            for (std::size_t i = 0; i != n; ++i) is &= mine.get(i) == value_of(at, i, round);
            return is;
        };
        every_way(found, named("broadcast", one, two, 0), comm, broadcast, start_broadcast, bind_broadcast, fill, right,
                  mine.all(), root{at});
        std::vector<rank_t> members;
        for (rank_t m = 0; m < p; m += 2) members.push_back(m);
        const bool takes_part = r % 2 == 0 || r == at;
        const auto as_members = [&](std::uint64_t round) {
            bool is = mine.is_clean();
            for (std::size_t i = 0; i != n; ++i) is &= mine.get(i) == value_of(takes_part ? at : r, i, round);
            return is;
        };
        every_way(found, named("multicast", one, two, 0), comm, multicast, start_multicast, bind_multicast, fill,
                  as_members, mine.all(), members, root{at});
    }
}

// The collectives of blocks. Equal lengths (`n`), or other ones, the blocks in any order in memory.
void blocks(faults& found, communicator<endpoint>& comm, std::size_t n, layout one, layout two, bool differ) {
    const rank_t p = comm.size(), r = comm.rank();
    std::vector<std::size_t> counts(p), first(p + 1, 0);
    std::vector<std::ptrdiff_t> places(p);
    for (rank_t b = 0; b != p; ++b) {
        counts[b] = differ ? (b * 5 + n) % 7 : n;
        first[b + 1] = first[b] + counts[b];
    }
    const std::size_t all = first[p];
    std::size_t slots = 0;
    for (rank_t b = p; b-- != 0;) { // in reverse, with a slot between
        places[b] = static_cast<std::ptrdiff_t>(differ ? slots : first[b]);
        slots += counts[b] + 1;
    }
    image own(one, counts[r]), whole(two, slots);
    elements its = whole.all(all);
    if (differ) its.displacements = places;
    const auto at_block = [&](rank_t b, std::size_t i) { return static_cast<std::size_t>(places[b]) + i; };
    const auto fill = [&](std::uint64_t round) {
        for (std::size_t i = 0; i != counts[r]; ++i) own.set(i, value_of(r, i, round));
        for (rank_t b = 0; b != p; ++b)
            for (std::size_t i = 0; i != counts[b]; ++i) whole.set(at_block(b, i), value_of(r, first[b] + i, round));
    };
    const auto fill_in_place = [&](std::uint64_t round) {
        fill(round);
        for (std::size_t i = 0; i != counts[r]; ++i) whole.set(at_block(r, i), value_of(r, i, round));
    };
    const auto clean = [&] { return own.is_clean() && whole.is_clean(); };
    const auto gathered = [&](std::uint64_t round) {
        bool is = clean();
        for (rank_t b = 0; b != p; ++b)
            for (std::size_t i = 0; i != counts[b]; ++i) is &= whole.get(at_block(b, i)) == value_of(b, i, round);
        return is;
    };
    const std::span<const std::size_t> lengths(counts);
    const std::string kind = differ ? "v" : "";
    const auto name = [&](const char* what, int op = 0) { return named(what, one, two, op) + kind; };
    if (differ) {
        every_way(found, name("allgather"), comm, allgatherv, start_allgatherv, bind_allgatherv, fill, gathered,
                  own.input(counts[r]), its, lengths);
        every_way(found, name("allgather in place"), comm, allgatherv, start_allgatherv, bind_allgatherv, fill_in_place,
                  gathered, its, lengths);
    } else {
        every_way(found, name("allgather"), comm, allgather, start_allgather, bind_allgather, fill, gathered,
                  own.input(counts[r]), its);
        every_way(found, name("allgather in place"), comm, allgather, start_allgather, bind_allgather, fill_in_place,
                  gathered, its);
    }
    for (const rank_t at : {rank_t{0}, p - 1}) {
        const auto gathered_at = [&, at](std::uint64_t round) { return r != at ? clean() : gathered(round); };
        const auto scattered = [&, at](std::uint64_t round) {
            bool is = clean();
            for (std::size_t i = 0; i != counts[r]; ++i) is &= own.get(i) == value_of(at, first[r] + i, round);
            return is;
        };
        const auto scattered_in_place = [&, at](std::uint64_t round) { return r == at ? clean() : scattered(round); };
        const elements place = r == at ? its : own.all();
        if (differ) {
            every_way(found, name("gather"), comm, gatherv, start_gatherv, bind_gatherv, fill, gathered_at,
                      own.input(counts[r]), its, lengths, root{at});
            every_way(found, name("gather in place"), comm, gatherv, start_gatherv, bind_gatherv, fill_in_place,
                      gathered_at, place, lengths, root{at});
            every_way(found, name("scatter"), comm, scatterv, start_scatterv, bind_scatterv, fill, scattered,
                      const_elements(its), own.all(), lengths, root{at});
            every_way(found, name("scatter in place"), comm, scatterv, start_scatterv, bind_scatterv, fill,
                      scattered_in_place, place, lengths, root{at});
            const std::span<const std::size_t> known = r == at ? lengths : std::span<const std::size_t>();
            every_way(found, name("gather, lengths at the root"), comm, gatherv, start_gatherv, bind_gatherv, fill,
                      gathered_at, own.input(counts[r]), its, known, root{at}, counts_at_root{});
            every_way(found, name("gather in place, lengths at the root"), comm, gatherv, start_gatherv, bind_gatherv,
                      fill_in_place, gathered_at, place, known, root{at}, counts_at_root{});
            every_way(found, name("scatter, lengths at the root"), comm, scatterv, start_scatterv, bind_scatterv, fill,
                      scattered, const_elements(its), own.all(), known, root{at}, counts_at_root{});
            every_way(found, name("scatter in place, lengths at the root"), comm, scatterv, start_scatterv,
                      bind_scatterv, fill, scattered_in_place, place, known, root{at}, counts_at_root{});
        } else {
            every_way(found, name("gather"), comm, gather, start_gather, bind_gather, fill, gathered_at,
                      own.input(counts[r]), its, root{at});
            every_way(found, name("gather in place"), comm, gather, start_gather, bind_gather, fill_in_place,
                      gathered_at, place, root{at});
            every_way(found, name("scatter"), comm, scatter, start_scatter, bind_scatter, fill, scattered,
                      const_elements(its), own.all(), root{at});
            every_way(found, name("scatter in place"), comm, scatter, start_scatter, bind_scatter, fill,
                      scattered_in_place, place, root{at});
        }
    }
    each_op(own, one == two && one != layout::two_arrays, [&]<class O>(const O& op, bool sums, int number) {
        const auto reduced = [&](std::uint64_t round) {
            bool is = clean();
            for (std::size_t i = 0; i != counts[r]; ++i) is &= own.get(i) == fold(0, p, first[r] + i, round, sums);
            for (rank_t b = 0; b != p; ++b) // the input is unchanged
                for (std::size_t i = 0; i != counts[b]; ++i)
                    is &= whole.get(at_block(b, i)) == value_of(r, first[b] + i, round);
            return is;
        };
        const auto reduced_in_place = [&](std::uint64_t round) {
            bool is = clean();
            for (std::size_t i = 0; i != counts[r]; ++i)
                is &= whole.get(at_block(r, i)) == fold(0, p, first[r] + i, round, sums);
            return is;
        };
        if (differ) {
            every_way(found, name("reduce_scatter", number), comm, reduce_scatterv, start_reduce_scatterv,
                      bind_reduce_scatterv, fill, reduced, const_elements(its), own.all(), lengths, op);
            every_way(found, name("reduce_scatter in place", number), comm, reduce_scatterv, start_reduce_scatterv,
                      bind_reduce_scatterv, fill, reduced_in_place, its, lengths, op);
        } else {
            every_way(found, name("reduce_scatter", number), comm, reduce_scatter, start_reduce_scatter,
                      bind_reduce_scatter, fill, reduced, const_elements(its), own.all(), op);
            every_way(found, name("reduce_scatter in place", number), comm, reduce_scatter, start_reduce_scatter,
                      bind_reduce_scatter, fill, reduced_in_place, its, op);
        }
    });
}

// alltoall: what rank r sends to rank b is block b of its vector.
void matrices(faults& found, communicator<endpoint>& comm, std::size_t n, layout one, layout two, bool differ) {
    const rank_t p = comm.size(), r = comm.rank();
    const auto length = [&](rank_t from, rank_t to) { return differ ? (from * 3 + to * 3 + n) % 5 : n; }; // symmetric
    std::vector<std::size_t> counts(p);
    std::vector<std::ptrdiff_t> places(p);
    std::size_t all = 0, slots = 0;
    for (rank_t b = 0; b != p; ++b) all += counts[b] = length(r, b);
    for (rank_t b = p; b-- != 0;) {
        places[b] = static_cast<std::ptrdiff_t>(differ ? slots : b * n);
        slots += counts[b] + 1;
    }
    image in(one, slots), out(two, slots), both(one, slots);
    const auto at_block = [&](rank_t b, std::size_t i) { return static_cast<std::size_t>(places[b]) + i; };
    const auto sent = [&](rank_t from, rank_t to, std::size_t i, std::uint64_t round) {
        return value_of(from, to * 1000 + i, round);
    };
    const auto fill = [&](std::uint64_t round) {
        for (rank_t b = 0; b != p; ++b)
            for (std::size_t i = 0; i != counts[b]; ++i) {
                in.set(at_block(b, i), sent(r, b, i, round));
                both.set(at_block(b, i), sent(r, b, i, round));
                out.set(at_block(b, i), {1, 2});
            }
    };
    const auto come = [&](image& x, std::uint64_t round) {
        bool is = in.is_clean() && out.is_clean() && both.is_clean();
        for (rank_t b = 0; b != p; ++b)
            for (std::size_t i = 0; i != counts[b]; ++i) {
                is &= x.get(at_block(b, i)) == sent(b, r, i, round);
                is &= in.get(at_block(b, i)) == sent(r, b, i, round);
            }
        return is;
    };
    const auto apart = [&](std::uint64_t round) { return come(out, round); };
    const auto in_place = [&](std::uint64_t round) { return come(both, round); };
    const_elements from = in.input(all);
    elements into = out.all(all), place = both.all(all);
    if (!differ) {
        every_way(found, named("alltoall", one, two, 0), comm, alltoall, start_alltoall, bind_alltoall, fill, apart,
                  from, into);
        every_way(found, named("alltoall in place", one, two, 0), comm, alltoall, start_alltoall, bind_alltoall, fill,
                  in_place, place);
        return;
    }
    from.displacements = into.displacements = place.displacements = places;
    const std::span<const std::size_t> lengths(counts);
    every_way(found, named("alltoallv", one, two, 0), comm, alltoallv, start_alltoallv, bind_alltoallv, fill, apart,
              from, lengths, into, lengths);
    every_way(found, named("alltoallv with a bound", one, two, 0), comm, alltoallv, start_alltoallv, bind_alltoallv,
              fill, apart, from, lengths, into, lengths, at_most{5}, bruck_alltoall{});
    every_way(found, named("alltoallv with a bound in place", one, two, 0), comm, alltoallv, start_alltoallv,
              bind_alltoallv, fill, in_place, place, lengths, at_most{4});
    every_way(found, named("alltoallv in place", one, two, 0), comm, alltoallv, start_alltoallv, bind_alltoallv, fill,
              in_place, place, lengths);
}

enum class lengths { equal, of_each, of_offsets };

// Neighbours on a line: place 0 and place 2 are of the rank below, place 1 of the one above; ranks at the ends lack one.
void neighbours(faults& found, communicator<endpoint>& comm, std::size_t n, layout one, layout two, lengths kind) {
    const rank_t r = comm.rank();
    const neighbourhood line = grid_neighbours{.extents = {comm.size()}, .offsets = {{1}, {-1}, {1}}, .ends = {true}};
    const bool differ = kind != lengths::equal;
    const auto length = [&](block_t b, block_t k) {
        if (kind == lengths::of_offsets) return (k * 2 + n) % 4;
        return differ && b != neighbourhood::no_block ? (b * 3 + n) % 5 : n;
    };
    std::vector<std::size_t> send(3), receive(3);
    std::vector<std::ptrdiff_t> send_at(3), receive_at(3);
    std::size_t sends = 0, receives = 0, send_slots = 0, receive_slots = 0;
    for (block_t k = 3; k-- != 0;) { // the other way round in memory, with gaps, if they differ
        send_at[k] = static_cast<std::ptrdiff_t>(differ ? send_slots : k * n);
        receive_at[k] = static_cast<std::ptrdiff_t>(differ ? receive_slots : k * n);
        sends += send[k] = length(line.first_block(r) + k, k);
        receives += receive[k] = length(line.arriving(r, k), k);
        send_slots += send[k] + (differ ? 1 : 0);
        receive_slots += receive[k] + (differ ? 1 : 0);
    }
    const affine_map untouched{1, 2};
    image in(one, send_slots), out(two, receive_slots), own(one, n);
    const auto slot = [](std::ptrdiff_t first, std::size_t i) { return static_cast<std::size_t>(first) + i; };
    const auto fill = [&](std::uint64_t round) {
        for (block_t k = 0; k != 3; ++k) {
            for (std::size_t i = 0; i != send[k]; ++i) in.set(slot(send_at[k], i), value_of(r, k * 1000 + i, round));
            for (std::size_t i = 0; i != receive[k]; ++i) out.set(slot(receive_at[k], i), untouched);
        }
        for (std::size_t i = 0; i != n; ++i) own.set(i, value_of(r, i, round));
    };
    const auto come = [&](std::uint64_t round, std::size_t by_place) {
        bool is = in.is_clean() && out.is_clean() && own.is_clean();
        for (block_t k = 0; k != 3; ++k)
            for (std::size_t i = 0; i != receive[k]; ++i) {
                const rank_t from = line.source(r, k);
                const affine_map got = out.get(slot(receive_at[k], i));
                is &= got == (from == no_rank ? untouched : value_of(from, k * by_place + i, round));
            }
        return is;
    };
    const auto all_to_all = [&](std::uint64_t round) { return come(round, 1000); };
    const_elements from = in.input(sends);
    elements into = out.all(receives);
    if (!differ) {
        every_way(found, named("neighbour_alltoall", one, two, 0), comm, neighbour_alltoall, start_neighbour_alltoall,
                  bind_neighbour_alltoall, fill, all_to_all, from, into, line);
        const auto gathered = [&](std::uint64_t round) { return come(round, 0); };
        every_way(found, named("neighbour_allgather", one, two, 0), comm, neighbour_allgather,
                  start_neighbour_allgather, bind_neighbour_allgather, fill, gathered, own.input(n), into, line);
        return;
    }
    from.displacements = send_at;
    into.displacements = receive_at;
    if (kind == lengths::of_offsets) {
        every_way(found, named("neighbour_alltoallv of offsets", one, two, 0), comm, neighbour_alltoallv,
                  start_neighbour_alltoallv, bind_neighbour_alltoallv, fill, all_to_all, from,
                  std::span<const std::size_t>(send), into, line, by_dimension{});
        return;
    }
    every_way(found, named("neighbour_alltoallv", one, two, 0), comm, neighbour_alltoallv, start_neighbour_alltoallv,
              bind_neighbour_alltoallv, fill, all_to_all, from, std::span<const std::size_t>(send), into,
              std::span<const std::size_t>(receive), line);
}

template <class F>
void on_ranks(rank_t p, F&& f) {
    std::vector<faults> found(p);
    in_process{p}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        f(found[comm.rank()], comm);
    });
    for (rank_t r = 0; r != p; ++r) {
        CAPTURE(p, r);
        CHECK(found[r].first == "");
    }
}

} // namespace

TEST_CASE("run time: vectors in every layout, with every kind of op") {
    for (const rank_t p : sizes)
        on_ranks(p, [](faults& found, communicator<endpoint>& comm) {
            for (const layout one : layouts)
                for (const layout two : layouts)
                    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{13}})
                        vectors(found, comm, n, one, two);
        });
}

TEST_CASE("run time: blocks in every layout") {
    for (const rank_t p : sizes)
        on_ranks(p, [](faults& found, communicator<endpoint>& comm) {
            for (const layout one : layouts)
                for (const layout two : layouts)
                    for (const bool differ : {false, true}) {
                        blocks(found, comm, 0, one, two, differ);
                        blocks(found, comm, 5, one, two, differ);
                        matrices(found, comm, 0, one, two, differ);
                        matrices(found, comm, 3, one, two, differ);
                        for (const lengths kind : {lengths::equal, lengths::of_each, lengths::of_offsets}) {
                            if ((kind == lengths::equal) == differ) continue;
                            neighbours(found, comm, 0, one, two, kind);
                            neighbours(found, comm, 3, one, two, kind);
                        }
                    }
        });
}

TEST_CASE("neighbour_alltoall of run-time elements: a place without a neighbour is the program's all the time") {
    // The first place of rank 0, and the last one of rank 1. Every second number is an element.
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const neighbourhood line = grid_neighbours{.extents = {2}, .offsets = {{-1}, {1}, {1}}, .ends = {true}};
        const run_time_type gapped{.size = 4, .extent = 8, .identity = 5};
        const int mine = static_cast<int>(comm.rank()) * 10;
        const int in[] = {mine + 1, 0, mine + 2, 0, mine + 3, 0};
        int out[] = {-1, -2, -3, -4, -5, -6};
        const auto from = const_elements{in, 3, gapped};
        operation op = start_neighbour_alltoall(comm, from, elements{out, 3, gapped}, line);
        for (int& x : out)
            if (x % 2 == 0) x = 100; // gaps
        const bool is_first = comm.rank() == 0;
        // What comes from rank 1 goes to offset -1: its first block. Rank 0 has nobody on its left.
        (is_first ? out[2] : out[0]) = 77;
        if (is_first) out[4] = 78;
        op.wait();
        const int left[] = {11, 77, 78}, right[] = {77, 2, 3};
        for (std::size_t k = 0; k != 3; ++k)
            wrong += out[2 * k] != (is_first ? left : right)[k] || out[2 * k + 1] != 100;
    });
    CHECK(wrong == 0);
}
