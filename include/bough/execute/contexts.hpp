// SPDX-License-Identifier: BSL-1.0
// Contexts: the communicators of a session by their numbers, and how far each has counted.
#ifndef BOUGH_EXECUTE_CONTEXTS_HPP
#define BOUGH_EXECUTE_CONTEXTS_HPP

#include <bough/concepts/transport.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bough {

class contexts {
public:
    // Of two numbers that count up and wrap: is a before b?
    static bool before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

    // 0 is the context of the first communicator; the members of a new one agree on the largest next().
    std::uint16_t next() const noexcept { return next_; }
    void use(std::uint16_t context) noexcept { next_ = static_cast<std::uint16_t>(context + 1); }

    void start(const envelope& tag) { counter(started_, tag.context) = tag.operation; }
    // Has this operation, or a later one of its context, been started?
    bool was_started(const envelope& tag) const noexcept {
        for (const auto& [context, latest] : started_)
            if (context == tag.context) return !before(latest, tag.operation);
        return false;
    }
    // How many agreements have begun in a context, this one included.
    std::uint32_t next_agreement(std::uint16_t context) { return ++counter(agreements_, context); }

    // A new epoch: all counting starts anew.
    void clear() noexcept {
        started_.clear();
        agreements_.clear();
        next_ = 1;
    }

private:
    using counters = std::vector<std::pair<std::uint16_t, std::uint32_t>>;
    static std::uint32_t& counter(counters& of, std::uint16_t context) {
        for (auto& [known, count] : of)
            if (known == context) return count;
        return of.emplace_back(context, 0).second;
    }

    counters started_;
    counters agreements_;
    std::uint16_t next_ = 1;
};

} // namespace bough

#endif
