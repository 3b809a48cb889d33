// SPDX-License-Identifier: BSL-1.0
// process_end: the end that check_transport_process checks, and what all parts of the check share:
// random decisions, ids, and the first fault.
#ifndef BOUGH_TESTING_DETAIL_PROCESS_END_HPP
#define BOUGH_TESTING_DETAIL_PROCESS_END_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/random.hpp>
#include <bough/testing/transport_rules.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace bough::inline BOUGH_ABI::testing::detail {

template <class T>
class process_end {
public:
    process_end(T end, std::uint64_t seed)
        : end_(std::move(end)), me_(end_->rank()), random_(mix_bits(seed ^ mix_bits(me_))) {}

    T* operator->() { return &*end_; }
    const T* operator->() const { return &*end_; }
    rank_t me() const { return me_; }
    void leave() { end_.reset(); }

    std::uint64_t draw(std::uint64_t below) { return (random_ = mix_bits(random_)) % below; }
    std::uint64_t new_id() { return mix_bits(++ids_); }
    std::uint64_t wrong_id() const { return ~ids_; } // of no post

    // Something has happened, so patience begins anew.
    void move() { moved_ = true; }
    bool has_moved() { return std::exchange(moved_, false); } // since the last call

    // Returns false.
    bool fail(transport_rule rule, const char* sentence) {
        if (!fault_) fault_ = {rule, me_, sentence};
        return false;
    }
    const transport_fault& fault() const { return fault_; }

private:
    std::optional<T> end_;
    rank_t me_;
    std::uint64_t random_, ids_ = 0;
    bool moved_ = false;
    transport_fault fault_{};
};

} // namespace bough::testing::detail

#endif
