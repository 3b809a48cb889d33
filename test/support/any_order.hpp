// SPDX-License-Identifier: BSL-1.0
// A program whose ranks start operations of several communicators in different orders: each rank may
// start one of a communicator at any time after those before it in that communicator. When it waits for
// one, it has started all that come before it in the list, so no rank waits for another in vain. The
// calls of one communicator have names.
#ifndef BOUGH_TEST_SUPPORT_ANY_ORDER_HPP
#define BOUGH_TEST_SUPPORT_ANY_ORDER_HPP

#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/gather.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace bough_test {

// How the first operation ended on this rank that did not end well; protocol_error: a result was wrong.
// `counts`: elements of 8 bytes.
template <class T>
bough::status any_order(T transport, std::uint32_t seed,
                        const std::vector<std::size_t>& counts = {1, 100, 3'000, 20'000, 100'000},
                        std::size_t operations = 24) {
    using namespace bough;
    communicator all{std::move(transport), {.timeout_ns = 20'000'000'000}};
    const rank_t me = all.rank(), size = all.size();
    std::array comms{duplicate(all), duplicate(all), split(all, me % 2), duplicate(all)};

    struct one {
        unsigned what = 0, comm = 0;
        rank_t from = 0;
        std::vector<std::int64_t> in, out;
        operation runs;
        bool has_started = false;
    };
    std::mt19937 common(seed), own(seed * 64 + me);
    const auto draw = [](std::mt19937& of, std::size_t most) { return static_cast<unsigned>(of() % most); };
    std::vector<one> list(operations);
    for (one& x : list) {
        x.what = draw(common, 4);
        x.comm = draw(common, comms.size());
        x.from = draw(common, x.comm == 2 ? size / 2 : size); // each half has so many
        const std::size_t count = counts[draw(common, counts.size())];
        for (std::size_t i = 0; i != count; ++i)
            x.in.push_back(static_cast<std::int64_t>(i) + comms[x.comm].rank() * std::int64_t{1'000'000});
        x.out.resize(x.what == 3 ? count * comms[x.comm].size() : count);
    }
    const auto start_as = [&](one& x, const auto&... name) {
        auto& comm = comms[x.comm];
        const std::span<const std::int64_t> in(x.in);
        switch (x.what) {
        case 0: x.runs = start_allreduce(comm, in, std::span(x.out), plus{}, name...); break;
        case 1:
            if (comm.rank() == x.from) x.out = x.in;
            x.runs = start_broadcast(comm, std::span(x.out), root{x.from}, name...);
            break;
        case 2: x.runs = start_reduce(comm, in, std::span(x.out), plus{}, root{x.from}, name...); break;
        default: x.runs = start_gather(comm, in, std::span(x.out), root{x.from}, name...);
        }
        x.has_started = true;
    };
    const auto start = [&](one& x) {
        if (x.comm != 3) return start_as(x);
        const std::string its = "call " + std::to_string(&x - list.data());
        start_as(x, named{its});
    };
    const auto is_right = [&](const one& x) {
        const std::int64_t ranks = comms[x.comm].size(), count = static_cast<std::int64_t>(x.in.size());
        if (x.what > 1 && comms[x.comm].rank() != x.from) return true;
        for (std::int64_t i = 0; i != static_cast<std::int64_t>(x.out.size()); ++i) {
            const std::int64_t expected = x.what == 1   ? i + x.from * std::int64_t{1'000'000}
                                          : x.what == 3 ? i % count + i / count * 1'000'000
                                                        : i * ranks + ranks * (ranks - 1) / 2 * 1'000'000;
            if (x.out[static_cast<std::size_t>(i)] != expected) return false;
        }
        return true;
    };
    status first;
    for (std::size_t waited = 0; waited != list.size();) {
        if (const unsigned c = draw(own, comms.size() + 2); c < comms.size()) { // the next one of this communicator
            for (one& x : list)
                if (x.comm == c && !x.has_started) {
                    start(x);
                    break;
                }
            continue;
        }
        for (std::size_t i = 0; i <= waited; ++i)
            if (!list[i].has_started) start(list[i]);
        status s;
        list[waited].runs.wait(s);
        if (!s && !is_right(list[waited])) s.code = errc::protocol_error;
        if (!first) first = s;
        ++waited;
    }
    return first;
}

} // namespace bough_test

#endif
