// SPDX-License-Identifier: BSL-1.0
// What a simulated world keeps of faults: those to come, by event number; envelopes that change;
// and the rules that its users broke.
#ifndef BOUGH_TRANSPORT_VIRTUAL_NETWORK_FAULTS_HPP
#define BOUGH_TRANSPORT_VIRTUAL_NETWORK_FAULTS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/random.hpp>
#include <bough/transport/virtual_network/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Counts events, and says which faults are due.
template <int>
class basic_simulated_faults {
public:
    void clear() {
        faults_.clear();
        next_ = 0;
        events_ = 0;
    }
    void inject(const simulated_fault& fault) {
        faults_.push_back(fault);
        std::sort(faults_.begin() + static_cast<std::ptrdiff_t>(next_), faults_.end(),
                  [](const simulated_fault& a, const simulated_fault& b) { return a.at < b.at; });
    }
    // None of those to come will happen.
    void heal() noexcept { next_ = faults_.size(); }

    std::uint64_t events() const noexcept { return events_; }
    // There is another event: calls happen(fault) for each fault that is due.
    template <class Happen>
    void tick(Happen&& happen) {
        ++events_;
        while (next_ != faults_.size() && faults_[next_].at < events_) {
            const simulated_fault fault = faults_[next_++];
            happen(fault);
        }
    }

private:
    std::vector<simulated_fault> faults_; // from `next_` on: to come
    std::size_t next_ = 0;
    std::uint64_t events_ = 0;
};
using simulated_faults = basic_simulated_faults<0>;

// Flips a bit of the next envelope, if it was told to.
class simulated_corruption {
public:
    void set_next(bool corrupt) noexcept { next_ = corrupt; }
    std::uint64_t count() const noexcept { return count_; }
    const envelope& last() const noexcept { return last_; } // as it was before

    void pass(envelope& tag, split_mix& random) {
        if (!std::exchange(next_, false)) return;
        last_ = tag;
        unsigned char bits[sizeof tag];
        std::memcpy(bits, &tag, sizeof tag);
        const std::uint64_t bit = random.below(8 * sizeof tag);
        bits[bit / 8] = static_cast<unsigned char>(bits[bit / 8] ^ 1u << bit % 8);
        std::memcpy(&tag, bits, sizeof tag);
        ++count_;
    }

private:
    bool next_ = false;
    std::uint64_t count_ = 0;
    envelope last_;
};

// How often rules were broken, and the first of them.
struct simulated_violations {
    std::uint64_t count = 0;
    const char* first = nullptr;

    void add(const char* rule) noexcept {
        ++count;
        if (first == nullptr) first = rule;
    }
};

} // namespace bough::detail

#endif
