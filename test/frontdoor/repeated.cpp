// SPDX-License-Identifier: BSL-1.0
// A blocking call that equals one made lately goes straight to its plan. It must differ in nothing but
// time from a call that is made for the first time.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/communicator/repeated_calls.hpp>
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/group.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/run_time.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>
#include <bough/select/candidates.hpp>
#include <bough/session/repeatable.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

using bough::rank_t;

// Runs body(comm, check) on each rank; check(bool) counts what is wrong.
template <class F>
int wrong_results(rank_t ranks, F&& body) {
    std::atomic<int> wrong{0};
    bough::in_process world{ranks};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        comm.set_timeout_ns(20'000'000'000);
        body(comm, [&](bool right) { wrong += right ? 0 : 1; });
    });
    return wrong;
}

template <class Goal, class T, class O, class Comm>
bool is_kept(Comm& comm, std::size_t count, rank_t root = 0) {
    return comm.find_repeated({&bough::detail::door_tag<Goal, T, O>, count, root}) != nullptr;
}

} // namespace

TEST_CASE("a call that is made again gives the same as at first, whatever is called in between") {
    for (const rank_t p : {1u, 2u, 3u, 5u, 8u}) {
        CAPTURE(p);
        CHECK(wrong_results(p, [&](auto& comm, auto&& check) {
                  const rank_t me = comm.rank();
                  std::vector<double> x(5), y(5), all(p);
                  for (rank_t turn = 0; turn != 70; ++turn) { // every 64th start goes by the engine
                      const double sum = p * (p - 1) / 2.0 + p * turn;
                      for (std::size_t n : {1u, 5u, 3u}) { // one size class has more than one count
                          std::fill(x.begin(), x.end(), me + turn);
                          bough::allreduce(comm, std::span(x).first(n), bough::plus{});
                          check(x[n - 1] == sum && (n == 5 || x[n] == me + turn));
                          std::fill(x.begin(), x.end(), me + turn);
                          bough::allreduce(comm, std::span<const double>(x).first(n), std::span(y).first(n),
                                           bough::max{});
                          check(y[0] == p - 1.0 + turn && x[0] == me + turn); // one plan, another op
                      }
                      const rank_t root = turn % p;
                      double z = me + turn;
                      bough::reduce(comm, std::span(&z, 1), bough::plus{}, bough::root{root});
                      check(z == (me == root ? sum : me + turn));
                      z = me == root ? turn : -1.0;
                      bough::broadcast(comm, std::span(&z, 1), bough::root{root});
                      check(z == turn);
                      z = 1;
                      bough::scan(comm, std::span(&z, 1), bough::plus{});
                      check(z == me + 1.0);
                      bough::exscan(comm, std::span(&z, 1), bough::plus{});
                      check(me == 0 ? z == 1 : z == me * (me + 1) / 2.0);
                      z = me;
                      bough::allgather(comm, std::span<const double>(&z, 1), std::span(all));
                      check(all.front() == 0 && all.back() == p - 1.0);
                      bough::barrier(comm);
                  }
              }) == 0);
    }
}

TEST_CASE("collectives of blocks that are made again give the same as at first, in place or not") {
    for (const rank_t p : {1u, 2u, 3u, 5u, 8u}) {
        CAPTURE(p);
        CHECK(wrong_results(p, [&](auto& comm, auto&& check) {
                  const rank_t me = comm.rank();
                  std::vector<long> all(2 * p), other(2 * p), own(2);
                  const auto fill = [](std::vector<long>& x, long from) { std::iota(x.begin(), x.end(), from); };
                  for (rank_t turn = 0; turn != 70; ++turn) {
                      const rank_t root = turn % p;
                      const long first = 100 * turn;
                      const bool in_place = turn % 3 == 2;
                      fill(all, first); // gather: rank r gives two numbers from first + 2 * r on
                      std::copy_n(all.begin() + 2 * me, 2, own.begin());
                      std::fill(other.begin(), other.end(), -1);
                      if (!in_place || me != root)
                          bough::gather(comm, std::span<const long>(own), std::span(other), bough::root{root});
                      else
                          std::copy_n(own.begin(), 2, other.begin() + 2 * me),
                              bough::gather(comm, std::span(other), bough::root{root});
                      check(me == root ? other == all : std::count(other.begin(), other.end(), -1) == 2 * p);
                      check(is_kept<bough::goal::gather, long, void>(comm, 2 * p, root));
                      std::fill(own.begin(), own.end(), -1);
                      if (in_place && me == root)
                          bough::scatter(comm, std::span(other), bough::root{root});
                      else
                          bough::scatter(comm, std::span<const long>(other), std::span(own), bough::root{root});
                      check(in_place && me == root ? other == all
                                                   : own == std::vector{first + 2 * me, first + 2 * me + 1});
                      check(is_kept<bough::goal::scatter, long, void>(comm, 2 * p, root));
                      fill(other, first + me); // the sum of place i: p * (first + i) + 0 + 1 + ... + p - 1
                      const long sum = static_cast<long>(p) * (first + 2 * me) + p * (p - 1) / 2;
                      if (in_place)
                          bough::reduce_scatter(comm, std::span(other), bough::plus{}),
                              std::copy_n(other.begin() + 2 * me, 2, own.begin());
                      else
                          bough::reduce_scatter(comm, std::span<const long>(other), std::span(own), bough::plus{});
                      check(own[0] == sum && own[1] == sum + p);
                      check(is_kept<bough::goal::reduce_scatter, long, bough::plus>(comm, 2 * p));
                      fill(all, first + 1000 * me);
                      bough::alltoall(comm, std::span<const long>(all), std::span(other));
                      check(is_kept<bough::goal::alltoall, long, void>(comm, std::size_t{2} * p * p));
                      for (rank_t r = 0; r != p; ++r) check(other[2 * r] == first + 1000 * r + 2 * me);
                  }
              }) == 0);
    }
}

namespace {

void add_longs(void*, const void* in, void* inout, std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) static_cast<long*>(inout)[i] += static_cast<const long*>(in)[i];
}

} // namespace

TEST_CASE("collectives of blocks on elements known at run time are remembered, too") {
    for (const rank_t p : {1u, 2u, 5u}) {
        CAPTURE(p);
        CHECK(wrong_results(p, [&](auto& comm, auto&& check) {
                  const rank_t me = comm.rank();
                  const bough::run_time_op add{
                      .function = add_longs, .commutative = true, .exact = true, .identity = 77};
                  const auto of = [](std::vector<long>& x) {
                      return bough::elements{x.data(), x.size(), {.size = sizeof(long), .identity = 5}, {}};
                  };
                  std::vector<long> all(2 * p), other(2 * p), own(2);
                  const auto is_known = [&](const void* door, std::size_t count, rank_t root = 0) {
                      return comm.find_repeated({door, count, root}) != nullptr;
                  };
                  using bough::detail::run_time_door;
                  for (rank_t turn = 0; turn != 6; ++turn) {
                      const rank_t root = turn % 2 % p;
                      const long first = 100 * turn;
                      std::iota(all.begin(), all.end(), first);
                      std::copy_n(all.begin() + 2 * me, 2, own.begin());
                      std::fill(other.begin(), other.end(), -1);
                      bough::allgather(comm, of(own), of(other));
                      check(other == all);
                      check(is_known(run_time_door<bough::goal::allgather>(true, false), 2 * p));
                      std::fill(other.begin(), other.end(), -1);
                      bough::gather(comm, of(own), of(other), bough::root{root});
                      check(me == root ? other == all : other[0] == -1);
                      check(is_known(run_time_door<bough::goal::gather>(true, false), 2 * p, root));
                      own = {-1, -1};
                      bough::scatter(comm, of(other), of(own), bough::root{root});
                      check(own[0] == first + 2 * me && own[1] == own[0] + 1);
                      check(is_known(run_time_door<bough::goal::scatter>(true, false), 2 * p, root));
                      if (turn % 2 == 0) // the block lies in its place of the whole
                          bough::allgather(comm, bough::const_elements{all.data() + 2 * me, 2, of(all).type, {}},
                                           of(all));
                      bough::reduce_scatter(comm, of(all), of(own), add);
                      check(own[0] == static_cast<long>(p) * (first + 2 * me));
                      other = all;
                      bough::reduce_scatter(comm, of(other), add); // in place
                      check(other[2 * me] == own[0] && other[2 * me + 1] == own[1]);
                      check(is_known(run_time_door<bough::goal::reduce_scatter>(true, true), 2 * p));
                      bough::alltoall(comm, of(all), of(other));
                      check(other.back() == all[2 * me + 1]);
                      check(is_known(run_time_door<bough::goal::alltoall>(true, false), std::size_t{2} * p * p));
                  }
                  // What is wrong is refused as before.
                  bough::status said;
                  bough::elements longer = of(other), of_ints = of(other);
                  longer.count -= 1;
                  bough::allgather(comm, of(own), longer, said);
                  check(said.code == bough::errc::invalid_argument);
                  of_ints.type.identity = 6;
                  bough::allgather(comm, of(own), of_ints, said);
                  check(said.code == bough::errc::invalid_argument);
                  bough::elements shifted = of(all);
                  shifted.data = all.data() - 1;
                  bough::alltoall(comm, shifted, of(all), said);
                  check(said.code == bough::errc::invalid_argument);
                  if (p > 1) {
                      bough::elements inside = of(all); // overlaps the whole, and not in its place
                      inside.data = all.data() + 1, inside.count = 2;
                      bough::allgather(comm, inside, of(all), said);
                      check(said.code == bough::errc::invalid_argument);
                  }
              }) == 0);
    }
}

TEST_CASE("blocks of different length are told from equal ones of the same total") {
    CHECK(wrong_results(2, [&](auto& comm, auto&& check) {
              for (int turn = 0; turn != 3; ++turn) {
                  std::array<int, 4> all{};
                  const std::array<int, 2> pair{10, 11};
                  bough::allgather(comm, std::span(pair), std::span(all));
                  check(all == std::array{10, 11, 10, 11});
                  const std::array<std::size_t, 2> counts{1, 3};
                  const std::vector<int> mine(counts[comm.rank()], 5 + static_cast<int>(comm.rank()));
                  bough::allgatherv(comm, std::span(mine), std::span(all), std::span(counts));
                  check(all == std::array{5, 6, 6, 6});
              }
          }) == 0);
}

TEST_CASE("a call is remembered with automatic choice alone, and forgotten with its plan and its costs") {
    CHECK(wrong_results(2, [&](auto& comm, auto&& check) {
              double x = 1;
              const auto kept = [&] { return is_kept<bough::goal::allreduce, double, bough::plus>(comm, 1); };
              const auto sum = [&](auto&&... choice) {
                  bough::allreduce(comm, std::span(&x, 1), bough::plus{}, choice...);
              };
              check(!kept());
              sum(bough::automatic{.required = bough::order_preserving});
              check(!kept());
              sum(bough::recursive_doubling{});
              check(!kept());
              sum();
              check(kept());
              sum(bough::automatic{.required = bough::rank_consistent}); // needs what the call does not ask for
              check(x == 16);
              comm.set_costs(
                  bough::model::alpha_beta_gamma{.alpha_ns = 1000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 1});
              check(!kept());
              sum();
              check(kept());
              bough::start_allreduce(comm, std::span(&x, 1), bough::plus{}).wait(); // takes the plan out of the cache
              check(!kept());
              sum();
              check(kept() && x == 128);
          }) == 0);
}

TEST_CASE("whatever a choice asks for, it is not taken for one that asks for nothing") {
    using bough::automatic;
    using bough::detail::is_default;
    static_assert(is_default(automatic{}));
    bough::requirements named;
    named.bracket.parameter = 1;
    for (const automatic& choice :
         {automatic{.required = bough::rank_consistent}, automatic{.required = bough::order_preserving},
          automatic{.required = bough::any_size}, automatic{.required = bough::same_bits_for_any_partition},
          automatic{.required = bough::same_bits_as(bough::recursive_doubling{}, {.size = 4})},
          automatic{.required = named}, automatic{.late_ranks = true}}) {
        CHECK(choice != automatic{});
        CHECK(!is_default(choice));
    }
}

TEST_CASE("a call of a communicator that another one has replaced is not made again") {
    CHECK(wrong_results(3, [&](auto& comm, auto&& check) {
              double x = 1;
              const auto sum = [&x](auto& on, auto&... said) {
                  bough::allreduce(on, std::span(&x, 1), bough::plus{}, said...);
              };
              for (int turn = 0; turn != 3; ++turn) sum(comm);
              auto next = bough::shrink(comm);
              bough::status said;
              sum(comm, said);
              check(said.code == bough::errc::group_poisoned && x == 27);
              for (int turn = 0; turn != 3; ++turn) sum(next);
              check(x == 729);
          }) == 0);
}

TEST_CASE("calls that end at once and calls that wait give the same, with a hook or without") {
    for (const bool has_hook : {false, true})
        CHECK(wrong_results(2, [&](auto& comm, auto&& check) {
                  if (has_hook) comm.set_while_waiting({[](void*, std::uint32_t) { return false; }, nullptr});
                  for (int turn = 1; turn != 300; ++turn) { // a poll of all peers is due in some of them
                      const double in = turn + static_cast<int>(comm.rank());
                      double below = -1, all = -1;
                      // Rank 0 only sends, and runs ahead until the allreduce.
                      for (int again = 0; again != turn % 5; ++again) {
                          bough::scan(comm, std::span(&in, 1), std::span(&below, 1), bough::plus{});
                          check(below == (comm.rank() == 0 ? turn : 2 * turn + 1));
                      }
                      if (turn % 7 == 0) bough::allreduce(comm, std::span(&in, 1), std::span(&all, 1), bough::max{});
                      check(turn % 7 != 0 || all == turn + 1);
                  }
                  // What a call is refused for at its start is its result at once.
                  bough::status said;
                  bough::scan(comm, std::span(static_cast<double*>(nullptr), 1), bough::plus{}, said);
                  check(said.code == bough::errc::invalid_argument);
              }) == 0);
}

TEST_CASE("a rank whose calls all end at once polls now and then") {
    for (const bool has_hook : {false, true}) {
        std::atomic<int> received{-1};
        CHECK(wrong_results(2, [&](auto& comm, auto&& check) {
                  auto other = bough::duplicate(comm);
                  if (has_hook) comm.set_while_waiting({[](void*, std::uint32_t) { return false; }, nullptr});
                  double x = 1, sum = 2;
                  if (comm.rank() == 1) { // what it sends here comes early, if rank 0 polls
                      bough::reduce(other, std::span(&sum, 1), bough::plus{}, bough::root{0});
                      received = 0;
                  }
                  for (int turn = 0; turn != 100; ++turn) {
                      while (comm.rank() == 0 && received != turn) std::this_thread::yield(); // there is room
                      bough::broadcast(comm, std::span(&x, 1), bough::root{0});
                      if (comm.rank() == 1) received = turn + 1;
                  }
                  if (comm.rank() == 1) return;
                  bough::reduce(other, std::span(&sum, 1), bough::plus{}, bough::root{0});
                  check(other.counters().early_messages == 1 && sum == 4);
              }) == 0);
    }
}

TEST_CASE("a call that is made again is matched: another call on one rank is an error on all") {
    for (int what = 0; what != 4; ++what) {
        CAPTURE(what);
        CHECK(wrong_results(3, [&](auto& comm, auto&& check) {
                  std::array<double, 2> x{1, 1};
                  for (int turn = 0; turn != 3; ++turn) {
                      bough::allreduce(comm, std::span(x).first(1), bough::plus{});
                      bough::allreduce(comm, std::span(x).first(1), bough::max{});
                      bough::allreduce(comm, std::span(x), bough::plus{});
                  }
                  bough::status said;
                  if (comm.rank() != 1 || what == 3)
                      bough::allreduce(comm, std::span(x).first(1), bough::plus{}, said);
                  else if (what == 0)
                      bough::allreduce(comm, std::span(x).first(1), bough::max{}, said); // the same plan
                  else if (what == 1)
                      bough::allreduce(comm, std::span(x), bough::plus{}, said);
                  else
                      bough::barrier(comm, said);
                  check(what == 3 ? !said
                                  : said.code == bough::errc::call_mismatch || said.code == bough::errc::peer_aborted);
                  bough::status later;
                  bough::allreduce(comm, std::span(x).first(1), bough::plus{}, later);
                  check(what == 3 ? !later : later.code == bough::errc::group_poisoned);
              }) == 0);
    }
}

TEST_CASE("a call that is made again is refused like any other, and counts as a call") {
    CHECK(wrong_results(2, [&](auto& comm, auto&& check) {
              double x = 1;
              for (int turn = 0; turn != 3; ++turn) bough::allreduce(comm, std::span(&x, 1), bough::plus{});
              bough::status said;
              bough::allreduce(comm, std::span(static_cast<double*>(nullptr), 1), bough::plus{}, said);
              check(said.code == bough::errc::invalid_argument);
              bough::allreduce(comm, std::span(&x, 1), bough::plus{});
              check(x == 16);
              auto other = bough::duplicate(comm);
              bough::allreduce(other, std::span(&x, 1), bough::plus{});
              bough::allreduce(other, std::span(&x, 1), bough::plus{});
              check(x == 64);
          }) == 0);
}

TEST_CASE("calls that differ in count or root alone are remembered side by side") {
    CHECK(wrong_results(4, [&](auto& comm, auto&& check) {
              std::vector<double> x(64);
              const auto kept = [&](std::size_t n) {
                  return is_kept<bough::goal::allreduce, double, bough::plus>(comm, n);
              };
              for (int turn = 0; turn != 2; ++turn)
                  for (std::size_t n : {8u, 16u}) bough::allreduce(comm, std::span(x).first(n), bough::plus{});
              check(kept(8) && kept(16));
              for (int turn = 0; turn != 2; ++turn)
                  for (rank_t root = 0; root != 4; ++root)
                      bough::broadcast(comm, std::span(x).first(1), bough::root{root});
              int roots = 0;
              for (rank_t root = 0; root != 4; ++root)
                  roots += is_kept<bough::goal::broadcast, double, void>(comm, 1, root) ? 1 : 0;
              check(roots >= 3);
          }) == 0);
}

TEST_CASE("calls of several types with one plan are recorded with their own sizes") {
    CHECK(wrong_results(2, [&](auto& comm, auto&& check) {
              double x = 1;
              float y = 1;
              for (int turn = 0; turn != 4; ++turn) {
                  bough::broadcast(comm, std::span(&x, 1), bough::root{0});
                  check(comm.core()->reporter.recorded.latest()->bytes() == 8);
                  bough::broadcast(comm, std::span(&y, 1), bough::root{0});
                  check(comm.core()->reporter.recorded.latest()->bytes() == 4);
              }
          }) == 0);
}

TEST_CASE("calls of a few lengths with one plan go the short way in turns, those of more from their second time on") {
    CHECK(wrong_results(4, [&](auto& comm, auto&& check) {
              std::vector<double> x(64);
              const auto sum = [&](std::size_t n) { bough::allreduce(comm, std::span(x).first(n), bough::plus{}); };
              const auto goes_short = [&](std::size_t n) {
                  auto* const kept =
                      comm.find_repeated({&bough::detail::door_tag<bough::goal::allreduce, double, bough::plus>, n, 0});
                  return kept != nullptr && kept->plan->work.prepare_again(kept->what.layout, nullptr, nullptr);
              };
              for (int turn = 0; turn != 3; ++turn)
                  for (std::size_t n : {16u, 8u}) sum(n); // the longest first: it takes all the scratch
              check(goes_short(8) && goes_short(16));
              for (std::size_t n : {10u, 12u, 14u}) sum(n); // four lengths are kept
              check(!goes_short(16));
              sum(16);
              check(goes_short(16));
          }) == 0);
}

namespace {

struct once_while_waiting {
    std::function<void()> todo;
    static bool run(void* self, std::uint32_t) {
        auto& mine = *static_cast<once_while_waiting*>(self);
        if (mine.todo) std::exchange(mine.todo, nullptr)();
        return true;
    }
};

} // namespace

TEST_CASE("what a hook starts while a call waits does not use or destroy the plan of that call") {
    for (const std::size_t plans : {1u, 2u, 64u})
        for (const bool equal : {true, false}) {
            CAPTURE(plans, equal);
            std::atomic<int> wrong{0};
            bough::in_process world{2};
            world.run([&](auto transport) {
                bough::communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000, .cached_plans = plans}};
                once_while_waiting hook;
                comm.set_while_waiting({&once_while_waiting::run, &hook});
                const long me = comm.rank();
                for (int turn = 0; turn != 3; ++turn) {
                    long x = me + 1, y = 10 * (me + 1);
                    std::optional<bough::operation> started;
                    const auto start = [&] {
                        started.emplace(equal ? bough::start_allreduce(comm, std::span(&y, 1), bough::plus{})
                                              : bough::start_broadcast(comm, std::span(&y, 1), bough::root{0}));
                    };
                    if (me == 0)
                        hook.todo = [&] {
                            start();
                            for (int i = 0; i != 100 && !started->done(); ++i) started->poll();
                        };
                    else
                        std::this_thread::sleep_for(std::chrono::milliseconds(30)); // so that rank 0 waits
                    bough::allreduce(comm, std::span(&x, 1), bough::plus{});
                    if (!started) start(); // rank 1; or rank 0, if it did not have to wait
                    hook.todo = nullptr;
                    started->wait();
                    wrong += x != 3 || y != (equal ? 30 : 10);
                    for (int again = 0; again != 3; ++again) {
                        x = me + 1;
                        bough::allreduce(comm, std::span(&x, 1), bough::plus{});
                        wrong += x != 3;
                    }
                }
            });
            CHECK(wrong == 0);
        }
}

TEST_CASE("whoever keeps the place of a call finds that call there, or none") {
    CHECK(wrong_results(2, [&](auto& comm, auto&& check) {
              using bough::detail::repeat_place;
              std::vector<double> x(200, 1);
              const auto sum = [&](std::size_t n, auto&&... choice) {
                  bough::allreduce(comm, std::span(x).first(n), bough::plus{}, choice...);
              };
              const auto again = [&](const repeat_place& where, double* data) {
                  bough::detail::repeated_call* const call = comm.repeated_at(where);
                  if (call == nullptr) return false;
                  call->what.made.input = call->what.made.output = reinterpret_cast<std::byte*>(data);
                  return !comm.run_repeated(*call);
              };
              check(comm.repeated_at(comm.last_repeated()) == nullptr); // there has been no call
              check(comm.repeated_at({}) == nullptr);
              sum(1);
              const repeat_place first = comm.last_repeated();
              check(first.call != nullptr && comm.last_repeated().call == nullptr); // it is told once
              double y = 1;
              for (double want = 2; want < 1e20; want *= 2) check(again(first, &y) && y == want);
              check(comm.last_repeated().call == first.call);
              sum(1, bough::recursive_doubling{}); // is not kept
              check(comm.last_repeated().call == nullptr);
              // Others take its place in the end. Whatever is at a place that was kept is the call of then.
              std::vector<repeat_place> places;
              for (std::size_t n = 1; n != 200; ++n) {
                  sum(n);
                  places.push_back(comm.last_repeated());
              }
              std::size_t found = 0;
              for (std::size_t n = 1; n != 200; ++n)
                  if (const auto* const call = comm.repeated_at(places[n - 1])) {
                      ++found;
                      check(call->key.count == n);
                  }
              check(found != 0 && found <= 16 && comm.repeated_at(first) == nullptr && !again(first, &y));
              const repeat_place last = places.back();
              comm.set_costs(
                  bough::model::alpha_beta_gamma{.alpha_ns = 1000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 1});
              check(comm.repeated_at(last) == nullptr); // its plan may be another one now
              sum(199);
              const repeat_place next = comm.last_repeated();
              check(comm.repeated_at(next) != nullptr && comm.repeated_at(last) == nullptr);
              bough::start_allreduce(comm, std::span(x).first(199), bough::plus{}).wait(); // takes its plan
              check(comm.repeated_at(next) == nullptr);
          }) == 0);
}
