// SPDX-License-Identifier: BSL-1.0
// The flushes of a rank's remote writes that are not over (region_end.hpp).
//
// A flush is over when the target has counted as many writes as had been begun. One count would not
// be enough: a later write may overtake an earlier one and be counted in its place. So each write
// has one of two kinds. Writes that begin after a question have the other kind than those that the
// question asks about. There is one question to a peer at a time.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_FLUSHES_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_FLUSHES_HPP

#include <bough/concepts/transport.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Writes of one rank to another, as counted at either end.
struct fabric_write_count {
    std::array<std::uint64_t, 2> of{}; // a count for each kind

    std::uint64_t all() const noexcept { return of[0] + of[1]; }
    // The question "have so many of this kind landed?" as one word. It is not 0 if there are any.
    std::uint64_t question(std::uint32_t kind) const noexcept { return of[kind] << 1 | kind; }
    bool answers(std::uint64_t question) const noexcept { return of[question & 1] >= question >> 1; }
};

class fabric_flushes {
public:
    struct open {
        rank_t to;
        std::uint64_t id;
        std::uint64_t upto;   // how many writes must have landed; valid when `before` is 0
        std::uint64_t before; // waits until all long puts with lower numbers are under way; 0: they are
    };

    void add(const open& flush) { open_.push_back(flush); }
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
    void landed(rank_t from, std::uint64_t landed, std::vector<event>& told) {
        end(errc::ok, told, [&](const open& f) { return f.to == from && f.before == 0 && f.upto <= landed; });
    }
    // Ends the flushes for which f returns true.
    template <class F>
    void end(errc code, std::vector<event>& told, const F& f) {
        std::erase_if(open_, [&](const open& o) {
            const bool over = f(o);
            if (over) told.push_back({.what = event::kind::complete, .code = code, .peer = o.to, .id = o.id});
            return over;
        });
    }

private:
    std::vector<open> open_;
};

} // namespace bough::detail

#endif
