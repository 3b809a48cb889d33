// SPDX-License-Identifier: BSL-1.0
// tune_one_sided measures up to which size a payload of bough::one_sided should travel in a block,
// and from which size on it should wait until its receiver says where it goes. It sets static_bytes
// to that size.
//
//   bough::one_sided link{std::move(regions), options};
//   const bough::one_sided_tuning found = bough::tune_one_sided(link, wire);    // before a communicator is made
//   bough::communicator comm{std::move(link)};
#ifndef BOUGH_MEASURE_ONE_SIDED_HPP
#define BOUGH_MEASURE_ONE_SIDED_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/transport/one_sided.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How long to measure, and which way long messages take.
struct one_sided_tune_options {
    // Round trips for each size and way, done in 5 parts; the fastest part counts.
    std::uint32_t rounds = 200;
    bool in_region = false;                    // true: long messages land in memory from allocate(), if there is enough
    std::uint64_t timeout_ns = 10'000'000'000; // for everything; measuring ends after half of it
};
struct one_sided_tuning {
    status result{};
    // 0: nothing was measured, because this rank has no partner or blocks are too small.
    std::uint32_t static_bytes = 0;
    struct sample {
        std::uint32_t bytes;
        double block_ns, wait_ns; // half a round trip: if the payload travels in a block, and if it waits
    };
    std::vector<sample> samples;
};

namespace detail {

template <class Link>
class one_sided_tuner {
public:
    one_sided_tuner(Link& link, const one_sided_tune_options& o)
        : link_(link), options_(o), peer_(link.rank() ^ 1u), last_ns_(deadline_after(link.now_ns(), o.timeout_ns / 2)),
          back_ns_(deadline_after(link.now_ns(), o.timeout_ns / 4 * 3)) {}

    one_sided_tuning run() {
        one_sided_tuning found;
        const std::uint32_t longest = link_.block_bytes();
        if (peer_ >= link_.size() || longest < 64) return found;
        out_.resize(longest);
        own_.resize(longest);
        const std::span<std::byte> lent = options_.in_region ? link_.allocate(longest) : std::span<std::byte>{};
        into_ = lent.empty() ? std::span<std::byte>(own_) : lent;
        const std::uint32_t before = link_.static_bytes();
        found.static_bytes = longest;
        bool wins = false; // whether waiting has been faster for the last sizes without exception
        for (std::uint32_t bytes = 64; bytes <= longest && result_.code == errc::ok; bytes *= 2) {
            link_.set_static_bytes(longest);
            const double block = measure(bytes);
            link_.set_static_bytes(bytes - 1);
            const double wait = measure(bytes);
            found.samples.push_back({bytes, block, wait});
            if (wait >= block) wins = false;
            if (wait < block && !wins) wins = true, found.static_bytes = bytes - 1;
            if (!wins) found.static_bytes = longest;
        }
        const bool all_back = take_back();
        if (!lent.empty() && all_back) link_.deallocate(lent);
        found.result = result_;
        if (result_) found.static_bytes = before;
        link_.set_static_bytes(found.static_bytes);
        return found;
    }

private:
    double measure(std::uint32_t bytes) {
        constexpr std::uint32_t parts = 5;
        double fastest = 0;
        for (std::uint32_t part = 0; part != parts; ++part) {
            const std::uint32_t rounds = std::max<std::uint32_t>(options_.rounds / parts, 1);
            const std::uint64_t begin = link_.now_ns();
            for (std::uint32_t k = 0; k != rounds && !result_; ++k) {
                if (link_.rank() < peer_) send(bytes);
                receive(bytes);
                if (link_.rank() > peer_) send(bytes);
            }
            const double ns = static_cast<double>(link_.now_ns() - begin) / (2.0 * rounds);
            if (part == 0 || ns < fastest) fastest = ns;
        }
        return fastest;
    }
    void send(std::uint32_t bytes) {
        posted p = posted::would_block;
        until([&] {
            p = link_.post_send(peer_, {}, std::span(out_).first(bytes), send_id);
            if (p == posted::failed) result_ = {.code = errc::peer_dead, .peer = peer_};
            return p != posted::would_block;
        });
        sending_ = p == posted::pending;
        until([&] { return !sending_; });
    }
    void receive(std::uint32_t bytes) {
        until([&] { return come_; });
        if (result_) return;
        come_ = false;
        const posted p = link_.take(arrival_.id, into_.first(bytes), take_id);
        if (p == posted::failed) result_ = {.code = errc::protocol_error, .peer = peer_};
        taking_ = p == posted::pending;
        until([&] { return !taking_; });
    }
    template <class F>
    void until(F&& holds) {
        if (!poll_until([&] { return result_ || holds(); }, last_ns_))
            result_ = {.code = errc::deadline, .peer = peer_};
    }
    // Polls until `holds` is true. False: it was not in time.
    template <class F>
    bool poll_until(F&& holds, std::uint64_t deadline_ns) {
        for (std::uint32_t idle = 0; !holds();) {
            std::array<event, 2> events;
            const std::size_t found = link_.poll(events);
            for (std::size_t i = 0; i != found; ++i) hear(events[i]);
            idle = found != 0 ? 0 : idle + 1;
            if (idle == 0) continue;
            if (idle % 64 == 0 && link_.now_ns() >= deadline_ns) return false;
            if constexpr (WaitableTransport<Link>) link_.wait(idle, deadline_ns);
        }
        return true;
    }
    // Takes back what is under way, so that nobody uses this object's memory any more. False: that
    // failed, and the link has got the memory instead.
    bool take_back() {
        if (sending_) (void)link_.cancel(send_id);
        if (taking_) (void)link_.cancel(take_id);
        if (poll_until([&] { return !sending_ && !taking_; }, back_ns_)) return true;
        link_.keep(std::move(out_));
        link_.keep(std::move(own_));
        return false;
    }
    void hear(const event& e) {
        if (e.what == event::kind::arrived) arrival_ = e, come_ = true;
        if (e.what == event::kind::complete) (e.id == send_id ? sending_ : taking_) = false;
        if (e.what == event::kind::lost && e.peer == peer_)
            result_ = {.code = e.code == errc::ok ? errc::peer_dead : e.code, .peer = peer_};
    }

    static constexpr std::uint64_t send_id = 1, take_id = 2;

    Link& link_;
    one_sided_tune_options options_;
    rank_t peer_;
    std::uint64_t last_ns_, back_ns_; // for measuring, and for taking back what is under way
    std::vector<std::byte> out_, own_;
    std::span<std::byte> into_;
    status result_{};
    event arrival_{};
    bool come_ = false, sending_ = false, taking_ = false;
};

} // namespace detail

// Collective: every rank calls it while no message is under way. `wire` is the wire-up with which
// the regions were made; it is used so that no rank goes on before all are done. Ranks 0 and 1
// measure together, 2 and 3 at the same time, and so on; with an odd number of ranks the last one
// keeps its value. The values of ranks may differ. If this rank has an error, or another one has
// (peer_aborted), static_bytes stays as it was. Then the link can only be destroyed, because
// messages may be under way.
template <class X, class Protocol, WireUp W>
requires(!Protocol::one_call) one_sided_tuning
    tune_one_sided(one_sided<X, Protocol>& link, W& wire, const one_sided_tune_options& options = {}) {
    const std::uint64_t last_ns = deadline_after(link.now_ns(), options.timeout_ns);
    const std::uint32_t before = link.static_bytes();
    one_sided_tuning found = detail::one_sided_tuner<one_sided<X, Protocol>>(link, options).run();
    const std::array<std::byte, 1> mine{static_cast<std::byte>(found.result.code)};
    std::vector<std::byte> all(link.size());
    const status told = wire.exchange(mine, all, time_left(link.now_ns(), last_ns));
    if (!found.result) found.result = told;
    for (rank_t r = 0; r != link.size() && !found.result; ++r)
        if (const auto theirs = static_cast<errc>(all[r]); theirs != errc::ok)
            found.result = {.code = errc::peer_aborted, .cause = theirs, .peer = r};
    if (found.result && found.static_bytes != 0) link.set_static_bytes(found.static_bytes = before);
    return found;
}

} // namespace bough

#endif
