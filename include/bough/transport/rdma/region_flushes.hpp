// SPDX-License-Identifier: BSL-1.0
// The flushes of a rank's remote writes that are not over. Each waits until as many writes have
// landed as had been begun, and for that its long puts must be under way (region_questions.hpp).
#ifndef BOUGH_TRANSPORT_RDMA_REGION_FLUSHES_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_FLUSHES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/transport/detail/due_events.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class fabric_flushes {
public:
    struct open {
        rank_t to;
        std::uint64_t id;
        std::uint64_t upto;   // how many writes must have landed; valid when `before` is 0
        std::uint64_t before; // waits until all long puts with lower numbers are under way; 0: they are
    };

    // If memory runs out, nothing has happened.
    void add(const open& flush, due_events& told) {
        told.make_room();
        open_.push_back(flush);
        told.expect();
    }
    // Of the flushes to a rank, those for which waits(flush) is false need not wait for long puts
    // any more: they are over when `begun` writes have landed.
    template <class F>
    void count(rank_t to, std::uint64_t begun, const F& waits) noexcept {
        for (open& f : open_)
            if (f.to == to && f.before != 0 && !waits(f)) f.before = 0, f.upto = begun;
    }
    // Whether a flush to that rank waits for more writes than have landed.
    bool asks(rank_t to, std::uint64_t landed) const noexcept {
        return std::any_of(open_.begin(), open_.end(),
                           [&](const open& f) { return f.to == to && f.before == 0 && f.upto > landed; });
    }
    void landed(rank_t from, std::uint64_t landed, due_events& told) {
        end(errc::ok, told, [&](const open& f) { return f.to == from && f.before == 0 && f.upto <= landed; });
    }
    // Ends the flushes for which f returns true.
    template <class F>
    void end(errc code, due_events& told, const F& f) {
        std::erase_if(open_, [&](const open& o) {
            const bool over = f(o);
            if (over) told.complete(o.id, code, o.to);
            return over;
        });
    }

private:
    std::vector<open> open_;
};

} // namespace bough::detail

#endif
