// SPDX-License-Identifier: BSL-1.0
// Traffic between ranks whose memory runs out in their polls. Replaces operator new (counted_new.hpp).
#ifndef BOUGH_TEST_TRANSPORT_POOR_POLLS_HPP
#define BOUGH_TEST_TRANSPORT_POOR_POLLS_HPP

#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace bough_test {

inline constexpr std::array<std::size_t, 6> lengths{8, 0, 60'000, 80, 300, 7'000};

struct shortage {
    long few = 0; // so many allocations of a poll succeed
    bool for_good = true;
};

// Runs f while memory is short.
template <class F>
void short_of_memory(const shortage& now, const F& f) {
    bough_test::fail_for_good = now.for_good;
    bough_test::until_failure = now.few;
    try {
        f();
    } catch (const std::bad_alloc&) {
    }
    bough_test::until_failure = -1;
    bough_test::fail_for_good = false;
}

template <class End>
class traffic {
public:
    traffic(std::vector<End>& ends, const shortage& now) : ends_(ends), now_(now), size_(ends.size()) {
        for (auto* all : {&sent_, &came_, &lost_}) all->assign(size_, std::vector<std::uint32_t>(size_));
        for (std::size_t i = 0; i != 60'000; ++i) bytes_.push_back(static_cast<std::byte>(i % 251));
    }

    // All send to all.
    void run(std::uint32_t messages) {
        for (int turn = 0; turn != 400'000 && !all_came(messages); ++turn) {
            for (bough::rank_t r = 0; r != size_; ++r) {
                post(r, messages);
                poll(r, turn % 2 == 0 || turn < 300);
            }
            pass_time();
        }
        for (bough::rank_t r = 0; r != size_; ++r)
            for (bough::rank_t from = 0; from != size_; ++from)
                if (from != r) CHECK(came_[r][from] == messages);
        CHECK((unended() == 0 && wrong_ == 0));
    }
    // The last rank leaves.
    void leave() {
        ends_.pop_back();
        const bough::rank_t gone = static_cast<bough::rank_t>(--size_);
        for (int turn = 0; turn != 20'000; ++turn) {
            bool all = true;
            for (bough::rank_t r = 0; r != size_; ++r) {
                poll(r, turn < 100);
                all = all && lost_[r][gone] != 0;
            }
            pass_time();
            if (all && turn > 200) break;
        }
        for (bough::rank_t r = 0; r != size_; ++r) CHECK(lost_[r][gone] == 1);
        CHECK(wrong_ == 0);
    }
    void (*time)() = nullptr;

private:
    void pass_time() const {
        if (time != nullptr) time();
    }
    bool all_came(std::uint32_t messages) const {
        if (unended() != 0) return false;
        for (bough::rank_t r = 0; r != size_; ++r)
            for (bough::rank_t from = 0; from != size_; ++from)
                if (from != r && came_[r][from] != messages) return false;
        return true;
    }
    std::size_t unended() const {
        return static_cast<std::size_t>(
            std::count_if(posts_.begin(), posts_.end(), [](const auto& p) { return !p.second.is_over; }));
    }
    void post(bough::rank_t r, std::uint32_t messages) {
        for (bough::rank_t to = 0; to != size_; ++to) {
            std::uint32_t& n = sent_[r][to];
            if (to == r || n == messages) continue;
            const std::uint64_t id = std::uint64_t{r} << 40 | std::uint64_t{to} << 32 | n;
            const auto bytes = std::span<const std::byte>(bytes_).first(lengths[n % lengths.size()]);
            const bough::posted how = ends_[r].post_send(to, {.operation = n}, bytes, id);
            wrong_ += how == bough::posted::failed;
            if (how == bough::posted::pending) posts_[id];
            n += how == bough::posted::pending || how == bough::posted::complete;
        }
    }
    void poll(bough::rank_t r, bool is_short) {
        std::array<bough::event, 5> events;
        std::size_t found = 0;
        if (is_short)
            short_of_memory(now_, [&] { found = ends_[r].poll(events); });
        else
            found = ends_[r].poll(events);
        for (const bough::event& e : std::span(events).first(found)) hear(r, e);
    }
    void hear(bough::rank_t r, const bough::event& e) {
        if (e.what == bough::event::kind::lost) return void(++lost_[r][e.peer]);
        if (e.what == bough::event::kind::complete) {
            const auto p = posts_.find(e.id);
            wrong_ += p == posts_.end() || p->second.is_over || e.code != bough::errc::ok || !is_right(p->second.into);
            if (p != posts_.end()) p->second.is_over = true;
            return;
        }
        std::uint32_t& n = came_[r][e.peer];
        wrong_ += e.envelope.operation != n || e.bytes != lengths[n % lengths.size()];
        ++n;
        if (n % 7 == 0) return ends_[r].release(e.id); // nobody wants it
        const std::uint64_t id = std::uint64_t{1} << 60 | takes_++;
        std::vector<std::byte>& into = posts_[id].into;
        into.resize(static_cast<std::size_t>(e.bytes));
        const bough::posted how = ends_[r].take(e.id, into, id);
        wrong_ += how != bough::posted::complete && how != bough::posted::pending;
        if (how != bough::posted::pending) posts_[id].is_over = true, wrong_ += !is_right(into);
    }
    bool is_right(const std::vector<std::byte>& came) const {
        return std::equal(came.begin(), came.end(), bytes_.begin());
    }

    struct post_of_rank {
        std::vector<std::byte> into{};
        bool is_over = false;
    };
    std::vector<End>& ends_;
    shortage now_;
    std::size_t size_;
    std::vector<std::vector<std::uint32_t>> sent_, came_, lost_; // by rank and peer
    std::vector<std::byte> bytes_;
    std::map<std::uint64_t, post_of_rank> posts_; // that were pending; and all takes
    std::uint64_t takes_ = 0;
    int wrong_ = 0;
};

// make() -> std::vector<End>, of three.
template <class Make>
void check_polls(const Make& make) {
    for (const bool for_good : {true, false})
        for (const long few : {0l, 1l, 2l, 3l, 5l}) {
            CAPTURE(for_good, few);
            auto ends = make();
            traffic run(ends, {few, for_good});
            run.run(30);
            run.leave();
        }
}

} // namespace bough_test

#endif
