// SPDX-License-Identifier: BSL-1.0
// measure_remote_writes times puts between ranks 0 and 1 of any RemoteWriteTransport, and fits the
// model of Gupta et al. to the times.
//
//   bough::shared_memory_regions mine{wire};
//   const auto found = bough::measure_remote_writes(mine);      // every rank calls it; rank 0 gets the values
//   if (!found.fit.error) std::cout << bough::model::best_degree(found.fit.model, 512, 64, bough::model::rdma_case::middle);
//
// Either a put goes to and fro, or eight puts go one way and a word comes back. The rank that waits
// looks at its memory; where bytes land in any order, at all of it. For each kind and size the
// fastest part counts. Combining and copying are timed on rank 0 alone.
#ifndef BOUGH_MEASURE_REMOTE_WRITES_HPP
#define BOUGH_MEASURE_REMOTE_WRITES_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/remote_words.hpp>
#include <bough/core/status.hpp>
#include <bough/model/fit_rdma.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Which puts are timed, and how often.
struct remote_write_timing_options {
    std::vector<std::uint64_t> bytes{8, 64, 512, 4096, 16384}; // multiples of 8, at least 8
    std::uint32_t rounds = 20;                                 // for each kind, size and part
    std::uint32_t parts = 21;
    // Where the part of each region begins that is used: 128 bytes and 8 times the longest put. A
    // multiple of 64.
    std::uint64_t first_byte = 0;
    std::uint64_t timeout_ns = 30'000'000'000; // for everything
};

// The samples, and the model that was fitted to them.
struct remote_write_timing {
    status result{}; // deadline, peer_dead, or what the network says
    model::rdma_fit fit{};
    std::vector<model::rdma_sample> samples;
};

namespace detail {

template <RemoteWriteTransport X>
class remote_write_timer {
    using kind = model::rdma_timing;
    static constexpr std::uint32_t burst = 8;

public:
    remote_write_timer(X& x, const remote_write_timing_options& o) : x_(x), options_(o), began_ns_(x.now_ns()) {
        longest_ = *std::max_element(o.bytes.begin(), o.bytes.end());
        const std::uint64_t room = x.region().size();
        BOUGH_EXPECTS(o.first_byte + 128 >= 128 && o.first_byte + 128 <= room &&
                          longest_ <= (room - o.first_byte - 128) / burst,
                      "region: too small for these puts");
        for (auto& source : own_->sources) source.assign(static_cast<std::size_t>(longest_ / 8), 0);
        // The region still has numbers from earlier calls. Each call takes numbers that no earlier
        // call has used.
        std::byte* const calls = x.region().data() + o.first_byte + 64 + remote_words::word;
        const std::uint64_t call = remote_words::read(calls) + 1;
        remote_words::write(calls, call);
        number_ = call << 32;
        own_->farewell = number_ | 0xffff'ffffu;
    }

    remote_write_timing run() {
        remote_write_timing found;
        const rank_t me = x_.rank();
        for (const std::uint64_t bytes : options_.bytes) {
            if (me > 1 || result_) break;
            bytes_ = bytes;
            const auto sample = [&](kind what, double ns) {
                if (me == 0) found.samples.push_back({what, bytes, ns});
            };
            sample(kind::one_way, fastest([&] { to_and_fro(); }) / 2);
            const double one = fastest([&] { many(1, false); });
            put_ns_ = 1e300;
            const double all = fastest([&] { many(burst, false); });
            sample(kind::burst, std::max((all - one) / (burst - 1), 1.0));
            if (bytes == *std::min_element(options_.bytes.begin(), options_.bytes.end()))
                sample(kind::put, std::max(put_ns_, 1.0));
            if constexpr (!X::keeps_byte_order) {
                const double first = fastest([&] { many(1, true); }), flushed = fastest([&] { many(burst, true); });
                sample(kind::acknowledged, std::max((flushed - first) / (burst - 1), 1.0));
            }
        }
        if (me == 0) in_memory(found.samples);
        finish();
        take_back();
        found.result = result_;
        if (me == 0 && !result_) found.fit = model::fit_rdma(found.samples);
        return found;
    }

private:
    // The least time of a round, in ns.
    template <class F>
    double fastest(const F& round) {
        double least = 0;
        for (std::uint32_t part = 0; part != options_.parts; ++part) {
            const std::uint64_t begin = x_.now_ns();
            for (std::uint32_t k = 0; k != options_.rounds && !result_; ++k) round();
            const double ns = static_cast<double>(x_.now_ns() - begin) / options_.rounds;
            if (part == 0 || ns < least) least = ns;
        }
        return least;
    }
    std::span<const std::byte> next_source() {
        auto& source = own_->sources[++number_ & 1];
        until([&] { return pending_ == 0; }); // until no put reads this memory
        std::fill_n(source.begin(), bytes_ / 8, number_);
        return std::as_bytes(std::span(source).first(static_cast<std::size_t>(bytes_ / 8)));
    }
    void to_and_fro() {
        const rank_t me = x_.rank();
        const auto source = next_source();
        if (me == 0) put(slot(0), source);
        arrived(slot(0));
        if (me == 1) put(slot(0), source);
    }
    void many(std::uint32_t count, bool flushed) {
        const auto source = next_source();
        if (x_.rank() == 0) {
            const std::uint64_t begin = x_.now_ns();
            for (std::uint32_t i = 0; i != count; ++i) {
                put(slot(i), source);
                if (flushed) flush();
            }
            if (count == burst) put_ns_ = std::min(put_ns_, static_cast<double>(x_.now_ns() - begin) / burst);
            until([&] { return remote_words::read(here(options_.first_byte)) == number_; });
        } else {
            for (std::uint32_t i = count; i-- != 0;) arrived(slot(i));
            own_->done = number_;
            put(options_.first_byte, std::as_bytes(std::span(&own_->done, 1)));
        }
    }
    // Waits until a put has come as a whole: until its last word has this round's number, or, where
    // bytes land in any order, every word has.
    void arrived(std::uint64_t at) {
        until([&] {
            std::uint64_t i = X::keeps_byte_order ? bytes_ - 8 : 0;
            while (i != bytes_ && remote_words::read(here(at + i)) == number_) i += 8;
            return i == bytes_;
        });
    }
    std::uint64_t slot(std::uint32_t i) const noexcept { return options_.first_byte + 128 + i * longest_; }
    const std::byte* here(std::uint64_t at) const noexcept { return x_.region().data() + at; }

    void put(std::uint64_t at, std::span<const std::byte> bytes, rank_t to = no_rank) {
        begin([&] { return x_.put(to == no_rank ? 1 - x_.rank() : to, at, bytes, {}, ++ids_); });
    }
    void flush() {
        if constexpr (!X::keeps_byte_order) begin([&] { return x_.flush(1 - x_.rank(), ++ids_); });
        until([&] { return pending_ == 0; });
    }
    template <class F>
    void begin(const F& post) {
        posted p = posted::would_block;
        while (!result_ && (p = post()) == posted::would_block) heard_of_loss();
        if (p == posted::failed && !result_) result_ = {.code = errc::peer_dead};
        if (p == posted::pending) ++pending_;
    }
    template <class F>
    void until(const F& holds) {
        for (std::uint32_t idle = 1; !result_ && !holds(); ++idle) {
            if (heard_of_loss()) {
                // If it holds, the peer was done.
                if (!holds()) result_ = {.code = errc::peer_dead, .peer = lost_};
                return;
            }
            if constexpr (WaitableRemoteWrites<X>)
                x_.wait(idle, deadline_after(began_ns_, options_.timeout_ns), [&] { return holds(); });
        }
    }
    // Polls. True: a peer is gone, and too early.
    bool heard_of_loss() {
        std::array<event, 4> events;
        const std::size_t found = x_.poll(events);
        for (std::size_t i = 0; i != found; ++i) {
            if (events[i].what == event::kind::lost && matters(events[i].peer)) lost_ = events[i].peer;
            if (events[i].what == event::kind::complete) --pending_;
        }
        if (++polls_ % 256 == 0 && !result_ && x_.now_ns() - began_ns_ > options_.timeout_ns)
            result_ = {.code = errc::deadline};
        return lost_ != no_rank;
    }
    // Whether the loss of a peer is an error. Once rank 0 has all results, ranks leave one after
    // another.
    bool matters(rank_t peer) const noexcept { return !finishing_ || (x_.rank() != 0 && peer == 0 && !closing_); }
    // No rank leaves before rank 0 says so. The other ranks wait for that word alone.
    void finish() {
        finishing_ = true;
        const std::uint64_t at = options_.first_byte + 64;
        if (x_.rank() == 0)
            for (rank_t r = 1; r != x_.size() && !result_; ++r)
                put(at, std::as_bytes(std::span(&own_->farewell, 1)), r);
        else
            until([&] { return remote_words::read(here(at)) == own_->farewell; });
        closing_ = true;
        until([&] { return pending_ == 0; });
    }
    // After an error puts may be under way. Memory that the network does not give back within a
    // second stays with it.
    void take_back() {
        const std::uint64_t last_ns =
            deadline_after(x_.now_ns(), std::min<std::uint64_t>(options_.timeout_ns, 1'000'000'000));
        while (pending_ != 0 && x_.now_ns() < last_ns) (void)heard_of_loss();
        if (pending_ == 0) return;
        memory* const left = own_.release();
        left->next = left_.exchange(left);
    }
    void in_memory(std::vector<model::rdma_sample>& samples) {
        constexpr std::size_t count = 2048; // doubles; so many fit into a cache
        std::vector<double> a(count, 1.0), b(count, 2.0);
        const auto time = [&](kind what, const auto& body) {
            samples.push_back({what, count * sizeof(double), std::max(fastest(body), 1.0)});
        };
        time(kind::combine, [&] {
            for (std::size_t i = 0; i != count; ++i) a[i] += b[i];
            keep(a.data());
        });
        time(kind::copy, [&] {
            std::memcpy(b.data(), a.data(), count * sizeof(double));
            keep(b.data());
        });
    }
    // Makes the compiler believe that somebody reads what lies there.
    static void keep(double* p) noexcept { __asm__ volatile("" : : "r"(p) : "memory"); }

    X& x_;
    remote_write_timing_options options_;
    std::uint64_t began_ns_, longest_ = 0, bytes_ = 0, number_ = 0, ids_ = 0, pending_ = 0;
    double put_ns_ = 0;
    rank_t lost_ = no_rank;
    std::uint32_t polls_ = 0;
    struct memory { // the memory that puts read
        std::array<std::vector<std::uint64_t>, 2> sources;
        std::uint64_t done = 0, farewell = 0;
        memory* next = nullptr;
    };
    static inline std::atomic<memory*> left_{nullptr}; // memory that networks have kept; it is never freed
    std::unique_ptr<memory> own_ = std::make_unique<memory>();
    status result_{};
    bool finishing_ = false, closing_ = false;
};

} // namespace detail

// Collective. Only rank 0 gets `fit` and `samples`; ranks above 1 wait. Pre: there are at least two
// ranks; the options are equal on all ranks. The used part of the regions is zero, or as earlier
// calls with the same options left it, and nothing else uses it.
template <RemoteWriteTransport X>
remote_write_timing measure_remote_writes(X& x, const remote_write_timing_options& options = {}) {
    BOUGH_EXPECTS(x.size() >= 2, "size: needs two ranks");
    BOUGH_EXPECTS(!options.bytes.empty() && options.rounds != 0 && options.parts != 0, "options: nothing to measure");
    BOUGH_EXPECTS(std::ranges::all_of(options.bytes, [](std::uint64_t b) { return b >= 8 && b % 8 == 0; }),
                  "bytes: multiples of 8, at least 8");
    BOUGH_EXPECTS(options.first_byte % 64 == 0, "first_byte: a multiple of 64");
    return detail::remote_write_timer<X>(x, options).run();
}

} // namespace bough

#endif
