// SPDX-License-Identifier: BSL-1.0
// bough::testing::faulty: a transport over another one that fails at one chosen call. It is made
// for sweeps: let it fail at call 0, 1, 2, ... until a run ends without meeting the fault. Every
// run must end, with a result or an error.
//
//   bough::testing::fault_point fault{.what = bough::testing::fault::fail, .at = n};
//   bough::communicator comm{bough::testing::faulty{std::move(transport), fault}};
//   ...
//   if (!fault.met) break;          // the run made fewer calls than that: the sweep is complete
//
// It counts calls of post_send, because their number depends only on the program, while the number
// of polls differs from run to run. It never lets a take or claim fail, because that would mean
// that the sender has taken its message back.
#ifndef BOUGH_TESTING_FAULTY_HPP
#define BOUGH_TESTING_FAULTY_HPP

#include <bough/concepts/forwarding_transport.hpp>
#include <bough/concepts/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::testing {

enum class fault : std::uint8_t {
    refuse, // would_block, once
    fail,   // failed, once
    // The peer is reported as lost to this rank, and no message goes to or comes from it; it is not
    // told. What had arrived can still be taken.
    lose,
};

struct fault_point {
    fault what = fault::refuse;
    std::uint64_t at = ~std::uint64_t{0}; // number of the call, counted from 0
    std::uint64_t calls = 0;              // counted so far
    bool met = false;
};

template <Transport T>
class faulty : public forwarding_transport<T> {
    using forwarding_transport<T>::inner_;

public:
    // `point` must outlive this object.
    faulty(T inner, fault_point& point) : forwarding_transport<T>(std::move(inner)), point_(&point) {}

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (strikes()) {
            if (point_->what == fault::refuse) return posted::would_block;
            if (point_->what == fault::lose) lost_ = to;
            return posted::failed;
        }
        return to == lost_ ? posted::failed : inner_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) {
        if (lost_ != no_rank && !reported_ && !events.empty()) {
            reported_ = true;
            events[0] = {};
            events[0].what = event::kind::lost;
            events[0].peer = lost_;
            return 1;
        }
        const std::size_t found = inner_.poll(events);
        std::size_t kept = 0;
        for (std::size_t i = 0; i != found; ++i) {
            const bool is_news = events[i].what == event::kind::arrived || events[i].what == event::kind::lost;
            if (is_news && lost_ != no_rank && events[i].peer == lost_) {
                if (events[i].what == event::kind::arrived) inner_.release(events[i].id);
                continue;
            }
            if (kept != i) events[kept] = events[i];
            ++kept;
        }
        return kept;
    }

private:
    bool strikes() {
        if (point_->calls++ != point_->at) return false;
        point_->met = true;
        return true;
    }

    fault_point* point_;
    rank_t lost_ = no_rank;
    bool reported_ = false;
};

} // namespace bough::testing

#endif
