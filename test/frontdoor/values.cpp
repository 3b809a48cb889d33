// SPDX-License-Identifier: BSL-1.0
// One value in the place of data: it is returned, and what the caller holds stays; started, it is written.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <atomic>
#include <complex>
#include <functional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

struct price { // travels in a form of its own
    std::string cents;
    friend price operator+(const price& a, const price& b) {
        return {std::to_string(std::stol(a.cents) + std::stol(b.cents))};
    }
};

} // namespace

template <>
struct bough::wire<price> {
    static constexpr std::size_t size = 8;
    static void encode(const price& p, std::span<std::byte, size> out) { wire<long>::encode(std::stol(p.cents), out); }
    static price decode(std::span<const std::byte, size> in) { return {std::to_string(wire<long>::decode(in))}; }
};

using namespace bough;

namespace {

using comm_type = communicator<in_process::endpoint>;

// What is no vector is a value, whatever it is given as; what is one never is.
template <class A>
using summed = decltype(allreduce(std::declval<comm_type&>(), std::declval<A>(), plus{}));
static_assert(std::is_same_v<summed<double>, double> && std::is_same_v<summed<const double&>, double>);
static_assert(std::is_same_v<summed<int&>, int> && std::is_same_v<summed<std::complex<float>&>, std::complex<float>>);
static_assert(std::is_same_v<summed<price>, price>);
static_assert(std::is_void_v<summed<std::span<int>>> && std::is_void_v<summed<std::vector<int>&>>);
static_assert(std::is_void_v<summed<std::array<int, 3>&>> && std::is_void_v<summed<int (&)[3]>>);

// What stands for elements elsewhere is no value: its bytes are an address.
struct table_view {
    using element_type = int;
    int* first;
};
static_assert(!detail::OneValue<table_view&> && !detail::OneValue<std::reference_wrapper<int>>);
static_assert(detail::OneValue<std::complex<double>&> && detail::OneValue<price>);

// f(comm) -> bool on each of so many ranks.
template <class F>
bool on_all(rank_t size, F f) {
    std::atomic<rank_t> good{0};
    in_process{size}.run([&](auto transport) {
        comm_type comm(std::move(transport));
        if (f(comm)) ++good;
    });
    return good == size;
}

} // namespace

TEST_CASE("values: each collective returns one", "[frontdoor]") {
    for (const rank_t size : {1u, 2u, 5u, 8u}) {
        CAPTURE(size);
        const int n = static_cast<int>(size), all = n * (n + 1) / 2;
        CHECK(on_all(size, [&](comm_type& comm) {
            const int me = static_cast<int>(comm.rank()), mine = me + 1;
            const rank_t last = size - 1;
            bool right = allreduce(comm, mine, plus{}) == all && mine == me + 1;
            right &= allreduce(comm, mine, max{}, recursive_doubling{}) == n;
            right &= allreduce(comm, 0.25 * mine, exact_sum{}) == 0.25 * all;
            right &= allreduce(comm, std::complex<double>(mine, 1), plus{}) == std::complex<double>(all, n);
            right &= allreduce(comm, price{std::to_string(mine)}, plus{}).cents == std::to_string(all);
            right &= reduce(comm, mine, plus{}, root{last}) == (comm.rank() == last ? all : mine);
            right &= reduce(comm, mine, plus{}, root{0}, fnomial{.degree = 3}) == (me == 0 ? all : mine);
            right &= broadcast(comm, mine, root{last}) == n;
            right &= scan(comm, mine, plus{}) == mine * (mine + 1) / 2;
            right &= exscan(comm, mine, plus{}) == me * mine / 2;
            right &= exscan(comm, 0.25 * mine, exact_sum{}) == 0.125 * me * mine; // and 0 at rank 0
            right &= exscan(comm, mine, multiplies{}) == [&] {
                int product = 1;
                for (int k = 1; k <= me; ++k) product *= k;
                return product;
            }();
            return right;
        }));
    }
}

TEST_CASE("values: an error is left where the caller wants it, or thrown", "[frontdoor]") {
    CHECK(on_all(3, [](comm_type& comm) {
        std::error_code ec = std::make_error_code(std::errc::io_error);
        status s;
        s.code = errc::deadline;
        bool right = allreduce(comm, 2, plus{}, ec) == 6 && !ec;
        right &= allreduce(comm, 2, plus{}, recursive_doubling{}, s) == 6 && !s;
        (void)reduce(comm, 2, plus{}, root{3}, s); // is no rank
        right &= s.code == errc::invalid_argument;
        try {
            (void)broadcast(comm, 2, root{7});
            return false;
        } catch (const error& e) {
            return right && e.code() == errc::invalid_argument;
        }
    }));
}

TEST_CASE("values: what is started is written into the variable", "[frontdoor]") {
    CHECK(on_all(4, [](comm_type& comm) {
        double sum = comm.rank();
        int told = comm.rank() == 1 ? 7 : 0, below = 1;
        operation a = start_allreduce(comm, sum, plus{}), b = start_broadcast(comm, told, root{1});
        operation c = start_exscan(comm, below, plus{}); // rank 0 keeps its value, as it keeps a vector
        a.wait(), b.wait(), c.wait();
        bool right = sum == 6 && told == 7 && below == static_cast<int>(comm.rank() == 0 ? 1 : comm.rank());
        persistent_operation again = bind_allreduce(comm, sum, max{});
        for (int k = 1; k <= 3; ++k) {
            sum = k * static_cast<double>(comm.rank());
            again.start();
            again.wait();
            right &= sum == 3 * k;
        }
        return right;
    }));
}
