// SPDX-License-Identifier: BSL-1.0
// job: what a program knows about the ranks that it was started with, whatever launcher started it.
// It is a WireUp that holds another one.
//
//   bough::job job = bough::this_job();             // from `bough launch`, mpirun, srun; otherwise of one rank
//   std::printf("%u of %u\n", job.rank(), job.size());
//   bough::shared_memory link{job};                 // make transports from it; then it may be destroyed
#ifndef BOUGH_LAUNCH_JOB_HPP
#define BOUGH_LAUNCH_JOB_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

class job {
public:
    // A job of one rank, which talks to nobody.
    job() = default;
    // A job of the ranks of any wire-up.
    template <WireUp W>
    requires(!std::same_as<W, job> && std::move_constructible<W>) explicit job(W wire)
        : held_(std::make_unique<holder<W>>(std::move(wire))) {}

    rank_t rank() const { return held_ ? held_->rank() : 0; }
    rank_t size() const { return held_ ? held_->size() : 1; }

    // The numeric address at which the other ranks reach this one; empty: not known.
    std::string address() const { return held_ ? held_->address() : std::string(); }

    // As WireUp says: collective, at most 1024 bytes of each rank, one thread at a time.
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (held_) return held_->exchange(mine, all, timeout_ns);
        if (const status bad = check_exchange(mine, all, 1)) return bad;
        std::copy(mine.begin(), mine.end(), all.begin());
        return {};
    }

private:
    struct base {
        virtual ~base() = default;
        virtual rank_t rank() const = 0;
        virtual rank_t size() const = 0;
        virtual status exchange(std::span<const std::byte>, std::span<std::byte>, std::uint64_t) = 0;
        virtual std::string address() const = 0;
    };
    template <class W>
    struct holder final : base {
        explicit holder(W w) : wire(std::move(w)) {}
        rank_t rank() const override { return wire.rank(); }
        rank_t size() const override { return wire.size(); }
        status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) override {
            return wire.exchange(mine, all, timeout_ns);
        }
        std::string address() const override {
            if constexpr (detail::SaysAddress<W>)
                return wire.address();
            else
                return {};
        }
        W wire;
    };

    std::unique_ptr<base> held_; // null: a job of one rank
};

static_assert(WireUp<job>);

} // namespace bough

#endif
