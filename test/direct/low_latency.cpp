// SPDX-License-Identifier: BSL-1.0
// low_latency: results in rank order in every form, however the ranks are skewed and whatever becomes of a put; and how a group
// ends.
#include "support/affine.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/direct/low_latency.hpp>
#include <bough/error.hpp>
#include <bough/model/logp.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/in_process.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::affine;
using bough_test::compose;
using bough_test::expected;
using bough_test::mixed;
using bough_test::value_of;

namespace {

constexpr low_latency_form forms[] = {low_latency_form::flat, low_latency_form::doubling, low_latency_form::tree};

using plain = in_process_regions::endpoint;

// Refuses every third put; of the others every second one is pending: its bytes are read later, when this end polls.
struct tardy : plain {
    static constexpr bool completes_at_once = false;
    struct put_later {
        rank_t to;
        std::uint64_t offset, id;
        std::span<const std::byte> first, second;
        std::vector<std::byte> now;
    };
    explicit tardy(plain&& base) : plain(std::move(base)) {}
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        if (++puts_ % 3 == 0) return posted::would_block;
        if (puts_ % 2 == 0 && later_.empty()) return plain::put(to, offset, first, second, id);
        std::vector<std::byte> now(first.begin(), first.end());
        now.insert(now.end(), second.begin(), second.end());
        later_.push_back({to, offset, id, first, second, std::move(now)});
        return posted::pending;
    }
    std::size_t poll(std::span<event> events) {
        if (later_.empty() || ++polls_ % 2 == 0 || events.empty()) return plain::poll(events);
        const put_later p = std::move(later_.front());
        later_.pop_front();
        changed += !std::equal(p.first.begin(), p.first.end(), p.now.begin()) ||
                   !std::equal(p.second.rbegin(), p.second.rend(), p.now.rbegin());
        plain::put(p.to, p.offset, p.first, p.second, p.id);
        events[0] = {.what = event::kind::complete, .peer = p.to, .id = p.id};
        return 1;
    }
    int changed = 0; // sources of pending puts

private:
    std::uint32_t puts_ = 0, polls_ = 0;
    std::deque<put_later> later_;
};

// Runs body(group, rank) on every rank of a group of threads.
template <class X = plain, class F>
void on_ranks(rank_t p, const low_latency_options& options, F&& body) {
    in_process_regions world(p, {.region_bytes = low_latency_bytes(p, options)});
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != p; ++r)
        threads.emplace_back([&, r] {
            low_latency<X> group(X(world.connect(r)), options);
            body(group, r);
        });
    for (std::thread& t : threads) t.join();
}
// What each rank ends with.
std::vector<status> results(rank_t p, const low_latency_options& options,
                            const std::function<void(low_latency<plain>&, rank_t, status&)>& body) {
    std::vector<status> all(p);
    on_ranks(p, options, [&](low_latency<plain>& group, rank_t r) { body(group, r, all[r]); });
    return all;
}

template <class X>
std::uint64_t wrong(rank_t p, low_latency_form form, std::uint32_t k, std::uint64_t calls) {
    std::vector<std::uint64_t> bad(p);
    on_ranks<X>(p, {.most_bytes = 96, .form = form, .k = k}, [&](low_latency<X>& group, rank_t r) {
        std::vector<affine> x, y;
        for (std::uint64_t call = 0; call != calls; ++call) {
            const std::uint64_t drawn = mixed(call);
            if (mixed(call * 64 + r) % 16 == 0) std::this_thread::yield(); // somebody is late
            if (drawn % 5 == 0) barrier(group);
            x.resize(static_cast<std::size_t>((drawn >> 8) % 7));
            for (std::size_t i = 0; i != x.size(); ++i) x[i] = value_of(call, r, i);
            const bool in_place = (drawn >> 16) % 2 == 0;
            y = x;
            if (in_place)
                allreduce(group, y, compose{});
            else
                allreduce(group, std::span(std::as_const(x)), std::span(y), compose{});
            for (std::size_t i = 0; i != x.size(); ++i)
                bad[r] += y[i] != expected(call, p, i) || (!in_place && x[i] != value_of(call, r, i));
        }
        if constexpr (std::is_same_v<X, tardy>) bad[r] += static_cast<std::uint64_t>(group.writes().changed);
    });
    std::uint64_t all = 0;
    for (const std::uint64_t b : bad) all += b;
    return all;
}

} // namespace

TEST_CASE("low_latency: allreduce is the fold in rank order, in every form, for any number of ranks") {
    for (const rank_t p : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 13u})
        for (const low_latency_form form : forms)
            for (const std::uint32_t k : {1u, 2u, 3u, 20u}) {
                if (form != low_latency_form::tree && k != 1) continue;
                CAPTURE(p, static_cast<int>(form), k);
                CHECK(wrong<plain>(p, form, k, bough_test::all() ? 5000 : 150) == 0);
            }
}

TEST_CASE("low_latency: a put that is refused or not yet complete is waited for, and its bytes are left alone") {
    for (const rank_t p : {2u, 3u, 5u, 8u})
        for (const low_latency_form form : forms) {
            CAPTURE(p, static_cast<int>(form));
            CHECK(wrong<tardy>(p, form, 2, 150) == 0);
        }
}

namespace {

struct alignas(32) wide {
    float x[8];
};
struct add_wide {
    wide operator()(const wide& a, const wide& b) const {
        wide sum{};
        for (int i = 0; i != 8; ++i) sum.x[i] = a.x[i] + b.x[i];
        return sum;
    }
};

} // namespace

TEST_CASE("low_latency: elements lie as their types must, whatever their alignment") {
    std::atomic<int> bad{0};
    on_ranks(3, {.most_bytes = 200}, [&](low_latency<plain>& group, rank_t r) {
        std::array<char, 3> small{1, static_cast<char>(r), 2};
        std::array<float, 3> four{1.5f, static_cast<float>(r), 2};
        std::array<long double, 2> sixteen{1.5l, static_cast<long double>(r)};
        std::array<wide, 3> most{};
        for (wide& w : most) w.x[7] = static_cast<float>(r);
        for (int k = 0; k != 20; ++k) {
            auto a = small;
            auto b = four;
            auto c = sixteen;
            auto d = most;
            allreduce(group, a, plus{});
            allreduce(group, b, plus{});
            allreduce(group, c, plus{});
            allreduce(group, d, add_wide{});
            if (a != std::array<char, 3>{3, 3, 6} || b != std::array<float, 3>{4.5f, 3, 6} ||
                c != std::array<long double, 2>{4.5l, 3} || d[2].x[7] != 3 || d[0].x[0] != 0)
                ++bad;
        }
    });
    CHECK(bad == 0);
}

TEST_CASE("low_latency: a group ends when ranks do not make the same call") {
    struct other_plus : plus {};
    const auto differs = [](mismatch what, auto&& call) {
        for (const low_latency_form form : forms)
            for (const rank_t odd : {0u, 1u, 2u}) {
                const auto all = results(3, {.form = form}, [&](low_latency<plain>& group, rank_t r, status& s) {
                    call(group, r == odd, s);
                    // Who has made the call before the others wait for him learns it in the next.
                    if (!s) barrier(group, s);
                });
                CAPTURE(static_cast<int>(form), odd, static_cast<int>(what));
                int found = 0;
                for (const status& s : all) {
                    CHECK((s.code == errc::call_mismatch || s.code == errc::peer_aborted));
                    found += s.code == errc::call_mismatch && s.mismatch == what && s.peer < 3;
                    CHECK((s.code == errc::call_mismatch ? s.mismatch == what : s.cause == errc::call_mismatch));
                }
                CHECK(found >= 1);
            }
    };
    differs(mismatch::count, [](auto& group, bool odd, status& s) {
        std::array<int, 3> x{};
        allreduce(group, std::span(x).first(odd ? 2 : 3), plus{}, s);
    });
    differs(mismatch::op, [](auto& group, bool odd, status& s) {
        std::array<int, 3> x{};
        odd ? allreduce(group, std::span(x), other_plus{}, s) : allreduce(group, std::span(x), plus{}, s);
    });
    differs(mismatch::type, [](auto& group, bool odd, status& s) {
        std::array<int, 3> x{};
        std::array<float, 3> y{};
        odd ? allreduce(group, std::span(y), plus{}, s) : allreduce(group, std::span(x), plus{}, s);
    });
    differs(mismatch::collective, [](auto& group, bool odd, status& s) {
        std::array<int, 3> x{};
        odd ? barrier(group, s) : allreduce(group, std::span(x), plus{}, s);
    });
}

// The words that ranks of two forms wait for may be such as nobody writes.
TEST_CASE("low_latency: a group ends when ranks have other forms or k, and both sides say so") {
    const low_latency_options all[] = {{.form = low_latency_form::flat},
                                       {.form = low_latency_form::doubling},
                                       {.form = low_latency_form::tree, .k = 1},
                                       {.form = low_latency_form::tree, .k = 2},
                                       {.form = low_latency_form::tree, .k = 3}};
    const auto same = [](const low_latency_options& a, const low_latency_options& b) {
        return a.form == b.form && a.k == b.k;
    };
    for (const rank_t p : {2u, 3u, 4u, 7u})
        for (const low_latency_options& usual : all)
            for (const low_latency_options& other : all)
                for (rank_t odd = 0; odd < p; odd += std::max(1u, p / 2)) {
                    if (same(usual, other)) continue;
                    CAPTURE(p, static_cast<int>(usual.form), usual.k, static_cast<int>(other.form), other.k, odd);
                    in_process_regions world(p, {.region_bytes = low_latency_bytes(p)});
                    std::vector<status> ends(p);
                    std::vector<std::thread> threads;
                    for (rank_t r = 0; r != p; ++r)
                        threads.emplace_back([&, r] {
                            low_latency group(world.connect(r), r == odd ? other : usual);
                            std::array<long, 2> x{};
                            allreduce(group, x, plus{}, ends[r]);
                        });
                    for (std::thread& t : threads) t.join();
                    std::uint64_t theirs = 0;
                    int sides = 0;
                    for (rank_t r = 0; r != p; ++r) {
                        const status& s = ends[r];
                        CAPTURE(r, message_of(s));
                        CHECK((s.code == errc::call_mismatch ||
                               (s.code == errc::peer_aborted && s.cause == errc::call_mismatch)));
                        if (s.code != errc::call_mismatch) continue;
                        CHECK((s.mismatch == mismatch::plan && s.mine != s.theirs && s.operation == 1));
                        sides |= r == odd ? 1 : 2;
                        theirs ^= r == odd ? s.mine : 0;
                    }
                    CHECK(sides == 3);
                    for (const status& s : ends) CHECK((s.mine == theirs || s.theirs == theirs || s.mine == s.theirs));
                }
}

TEST_CASE("low_latency: who goes is missed when he is waited for, and not before") {
    for (const low_latency_form form : forms) {
        CAPTURE(static_cast<int>(form));
        const auto all = results(4, {.form = form}, [&](low_latency<plain>& group, rank_t r, status& s) {
            int x = 1;
            for (int k = 0; k != 3; ++k) {
                allreduce(group, std::span(&x, 1), plus{}, s);
                if (s) return;
                if (k == 1 && r == 2) return; // the others have a call left
            }
        });
        CHECK_FALSE(all[2]);
        int missed = 0;
        for (const rank_t r : {0u, 1u, 3u}) {
            CHECK((all[r].code == errc::peer_dead || all[r].code == errc::peer_aborted));
            missed += all[r].code == errc::peer_dead;
            CHECK((all[r].code == errc::peer_dead ? all[r].peer == 2 : all[r].cause == errc::peer_dead));
            CHECK(all[r].operation == 3);
        }
        CHECK(missed >= 1);
    }
}

TEST_CASE("low_latency: what goes wrong on one rank ends the call of all, and those behind it") {
    struct throwing {
        int operator()(int a, int) const { throw a; }
    };
    for (const low_latency_form form : forms) {
        CAPTURE(static_cast<int>(form));
        // A rank that does not come before the others have given up.
        std::vector<status> again(2);
        std::atomic<bool> given_up{false};
        auto all =
            results(2, {.form = form, .timeout_ns = 50'000'000}, [&](low_latency<plain>& group, rank_t r, status& s) {
                int x = 1;
                if (r == 1) given_up.wait(false);
                allreduce(group, std::span(&x, 1), plus{}, s);
                given_up = true;
                given_up.notify_one();
                barrier(group, again[r]);
            });
        CHECK(all[0].code == errc::deadline);
        CHECK((again[0].code == errc::group_poisoned && again[0].cause == errc::deadline));
        CHECK(again[1].code != errc::ok); // its call may have found all that it needs
        // A vector that is too long.
        all = results(3, {.form = form}, [](low_latency<plain>& group, rank_t r, status& s) {
            std::vector<int> x(r == 1 ? 15 : 2);
            allreduce(group, x, plus{}, s);
            if (!s) barrier(group, s);
        });
        CHECK(all[1].code == errc::size_overflow);
        for (const rank_t r : {0u, 2u})
            CHECK((all[r].code == errc::peer_aborted && all[r].cause == errc::size_overflow));
        // An op that throws.
        all = results(2, {.form = form}, [](low_latency<plain>& group, rank_t, status& s) {
            int x = 1;
            allreduce(group, std::span(&x, 1), throwing{}, s);
            if (!s) barrier(group, s);
        });
        for (const status& s : all) CHECK((s.code == errc::op_threw || s.cause == errc::op_threw));
    }
}

TEST_CASE("low_latency: options and regions that do not do are named by every call") {
    const auto refused = [](const low_latency_options& options, std::uint64_t region_bytes) {
        in_process_regions world(1, {.region_bytes = region_bytes});
        low_latency group(world.connect(0), options);
        status s;
        for (int k = 0; k != 2; ++k) barrier(group, s);
        CHECK(s.code == errc::invalid_argument);
        return std::string(s.argument == nullptr ? "" : s.argument);
    };
    CHECK(refused({.most_bytes = 7}, 4096) == "most_bytes: must be 8 to 8192");
    CHECK(refused({.most_bytes = 0xffff'ffff}, 4096) == "most_bytes: must be 8 to 8192");
    CHECK(low_latency_bytes(1, {.most_bytes = 0xffff'ffff}) > 2ull * 0xffff'ffff);
    CHECK(refused({.most_bytes = 8193}, 1 << 20) == "most_bytes: must be 8 to 8192");
    CHECK(refused({.k = 0}, 4096) == "k: must be at least 1");
    CHECK(refused({}, 64) == "region: needs low_latency_bytes(size, options) bytes");
}

namespace {

struct priced : plain { // without a gap between messages, as shared memory's costs are
    explicit priced(plain&& base) : plain(std::move(base)) {}
    static constexpr model::loggops default_costs() { return {.message_latency_ns = 70, .overhead = {75, 0}}; }
};
template <class X>
low_latency_form chosen(rank_t p, std::uint32_t cores) {
    in_process_regions world(p, {.region_bytes = low_latency_bytes(p), .cores = cores});
    std::vector<low_latency_form> all;
    for (rank_t r = 0; r != p; ++r) all.push_back(low_latency<X>(X(world.connect(r))).form());
    CHECK(std::count(all.begin(), all.end(), all[0]) == static_cast<std::ptrdiff_t>(p));
    return all[0];
}

} // namespace

TEST_CASE("low_latency: the form is chosen by rounds, writes and cores, and is the same on all ranks") {
    CHECK(chosen<plain>(2, 64) == low_latency_form::flat);
    CHECK(chosen<plain>(3, 64) == low_latency_form::flat);
    CHECK(chosen<plain>(64, 64) == low_latency_form::doubling);
    CHECK(chosen<priced>(4, 64) == low_latency_form::flat);
    CHECK(chosen<priced>(8, 64) == low_latency_form::doubling);
    CHECK(chosen<plain>(64, 2) == low_latency_form::flat); // a round is a turn of all ranks
    CHECK(chosen<priced>(8, 2) == low_latency_form::flat);
}
