// SPDX-License-Identifier: BSL-1.0
// Timing serial reductions on NICs, fitting the model, and comparing it with trees.
#include "fit.hpp"

#include "nic.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/choose_target.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace xdp {

namespace {

namespace nics = bough::nic;
using bough::rank_t;
using programs = std::vector<nics::program>;

word now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<word>(t.tv_sec) * 1'000'000'000 + static_cast<word>(t.tv_nsec);
}

// A reduction whose other ranks enter when a multicast of the root comes, which brings what they contribute. So all begin
// together, and one clock sees the beginning and the end.
programs started_by_root(programs all) {
    for (nics::program& p : all) {
        const bool is_root = p.head.rank == 0;
        const nics::inlet bell = p.inlets[nics::bell_inlet];
        for (nics::step& s : p.steps)
            if (s.what == nics::kind::send) ++s.out; // an inlet more comes before
        p.inlets.insert(p.inlets.begin() + nics::multicast_inlet, nics::inlet{});
        const auto more = static_cast<nics::u16>(p.counters.size());
        if (is_root) {
            for (nics::counter& c : p.counters) c.first_step = static_cast<nics::u16>(c.first_step + 2);
            p.inlets[nics::bell_inlet].counter = more;
            p.counters.push_back({1, 0, 0, 2});
            const nics::step multicast{.what = nics::kind::send,
                                       .peer = nics::everyone,
                                       .a = bell.slot,
                                       .out = nics::multicast_inlet,
                                       .wait = more,
                                       .threshold = 1};
            const nics::step enter{.what = nics::kind::count, .wait = more, .threshold = 1, .bump = bell.counter};
            p.steps.insert(p.steps.begin(), {multicast, enter});
        } else {
            p.inlets[nics::multicast_inlet] = {0, bell.slot, bell.counter, 0};
            p.inlets[nics::bell_inlet] = {p.head.rank, nics::no_index, more, 0}; // nobody rings
            p.counters.push_back({1, 0, static_cast<nics::u16>(p.steps.size()), 0});
        }
        p.head.steps = static_cast<nics::u16>(p.steps.size());
        p.head.counters = static_cast<nics::u16>(p.counters.size());
        p.head.inlets = static_cast<nics::u16>(p.inlets.size());
        p.head.checksum = nics::checksum_of(p);
        if (nics::sound(p) != nics::table_fault::none) throw std::runtime_error("a broken table");
    }
    return all;
}

template <class Shape>
programs reduction(const Shape& shape, rank_t ranks, std::uint32_t elements) {
    auto made = nics::assemble_all(
        bough::plan_reduce(shape, {.size = ranks}), nics::needs_of<bough::soft_plus<bough::f64_bits>, double>,
        nics::capabilities_of<nics::xdp>, {.elements = elements, .banks = 4, .credits = false});
    if (!made) throw std::runtime_error(nics::describe(made.why.reason));
    return ranks == 1 ? made.programs : started_by_root(std::move(made.programs));
}

enum class op { none, i64, f64 };
const char* name_of(op o) { return o == op::none ? "nop" : o == op::i64 ? "i64" : "f64"; }

// The median, in ns. Each result is looked at.
double time_of(nic& on, const programs& all, op o, unsigned samples) {
    on.install(all);
    std::vector<double> ns;
    const double one = 1.5;
    const word mine = o == op::i64 ? 3 : std::bit_cast<word>(one);
    const std::array<word, 2> input{mine, mine};
    const auto ranks = static_cast<double>(all.size());
    const word expected = o == op::none ? mine : o == op::i64 ? 3 * all.size() : std::bit_cast<word>(one * ranks);
    for (std::uint32_t e = 0; e != samples; ++e) {
        const word begin = now_ns();
        on.ring(0, e, std::span(input).first(on.elements()));
        const word deadline = begin + 5'000'000'000;
        for (rank_t r = 0; r != all.size(); ++r)
            while (on.told(r) != e + 1)
                if (now_ns() > deadline) throw std::runtime_error("a reduction did not end");
        if (on.completion_of(0).result[e & 3][0] != expected) throw std::runtime_error("a wrong result");
        ns.push_back(static_cast<double>(on.completion_of(0).stamp_ns[e & 3] - begin));
        if (e % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    std::nth_element(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2), ns.end());
    return ns[ns.size() / 2];
}

} // namespace

void print_fit(const std::string& object, const network& net, unsigned samples) {
    // op, elements, ranks
    std::map<std::tuple<op, std::uint32_t, rank_t>, double> serial;
    std::map<std::tuple<op, rank_t>, double> tree;
    constexpr rank_t most = 13;
    // Other work on the machine comes and goes: of three rounds the least median counts.
    constexpr unsigned rounds = 3;
    const auto keep_least = [](double& kept, double ns) { kept = kept == 0 ? ns : std::min(kept, ns); };
    for (unsigned round = 0; round != rounds; ++round)
        for (const op o : {op::none, op::i64, op::f64})
            for (const std::uint32_t elements : {1u, 2u}) {
                nic on(object, "nic_xdp_" + std::string(name_of(o)) + "x" + std::to_string(elements), net);
                time_of(on, reduction(bough::flat{}, most, elements), o, samples / rounds); // warms up
                for (rank_t p = 1; p <= most; ++p)
                    keep_least(serial[{o, elements, p}],
                               time_of(on, reduction(bough::flat{}, p, elements), o, samples / rounds));
                if (elements != 1 || o == op::none) continue;
                for (rank_t f = 2; f <= most_ranks; ++f)
                    keep_least(tree[{o, f}],
                               time_of(on, reduction(bough::fnomial{.degree = f}, most_ranks, 1), o, samples / rounds));
            }
    std::printf("serial reductions, us, least of %u medians of %u\n%6s", rounds, samples / rounds, "nodes");
    for (const op o : {op::none, op::i64, op::f64})
        for (const unsigned elements : {1u, 2u}) std::printf("  %5s x%u", name_of(o), elements);
    for (rank_t p = 1; p <= most; ++p) {
        std::printf("\n%6u", p);
        for (const op o : {op::none, op::i64, op::f64})
            for (const unsigned elements : {1u, 2u}) std::printf("  %8.2f", serial[{o, elements, p}] / 1000);
    }
    for (const op o : {op::i64, op::f64}) {
        const auto fit = nics::fit_serial([&](const bough::model::reduction_sample& run) {
            const auto at = [&](op what, rank_t p) {
                return serial[{what, static_cast<std::uint32_t>(run.bytes / sizeof(word)), p}];
            };
            const double ns = at(run.with_op ? o : op::none, run.ranks);
            // The way of the multicast is half a round trip of two.
            return run.ranks == 1 ? ns : ns - (at(op::none, 2) - at(op::none, 1)) / 2;
        });
        if (fit.error) throw std::runtime_error(fit.error.argument);
        const auto& m = fit.model;
        std::printf("\n\n%s: C %.2f  L %.2f  r %.3f (x1) %.3f (x2)  c %.3f (x1) %.3f (x2) us; off by %.2f (rms), %.2f "
                    "at most\n",
                    name_of(o), m.startup_ns / 1000, m.message_latency_ns / 1000, m.receive.at_ns(8) / 1000,
                    m.receive.at_ns(16) / 1000, m.combine.at_ns(8) / 1000, m.combine.at_ns(16) / 1000,
                    fit.residual_rms_ns / 1000, fit.residual_max_ns / 1000);
        const double way_ns = (serial[{op::none, 1, 2}] - serial[{op::none, 1, 1}]) / 2;
        std::printf("16 nodes by degree, us\n%6s %9s %14s %14s\n", "degree", "measured", "one processor",
                    "a processor each");
        for (rank_t f = 2; f <= most_ranks; ++f) {
            const auto plan = bough::plan_reduce(bough::fnomial{.degree = f}, {.size = most_ranks});
            std::printf("%6u %9.2f %14.2f %14.2f\n", f, tree[{o, f}] / 1000,
                        (way_ns + nics::priced_ns(plan, m, 1, sizeof(word), {.cores = 1})) / 1000,
                        (way_ns + nics::priced_ns(plan, m, 1, sizeof(word))) / 1000);
        }
    }
}

} // namespace xdp
