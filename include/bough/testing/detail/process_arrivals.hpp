// SPDX-License-Identifier: BSL-1.0
// process_arrivals: what has come to a rank in check_transport_process, from each peer: that each
// message is the next one of the script, and has its payload when it is used.
#ifndef BOUGH_TESTING_DETAIL_PROCESS_ARRIVALS_HPP
#define BOUGH_TESTING_DETAIL_PROCESS_ARRIVALS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/testing/detail/process_end.hpp>
#include <bough/testing/detail/process_script.hpp>
#include <bough/testing/transport_rules.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing::detail {

template <class T>
class process_arrivals {
public:
    using section = process_script::section;

    process_arrivals(process_end<T>& end, const process_script& script)
        : end_(end), script_(script), in_(end->size()) {}

    section section_of(const event& e, std::uint32_t n) const { return script_.section_of(e.peer, end_.me(), n); }
    bool have_arrived(rank_t from) const { return in_[from].arrived >= script_.due(from, end_.me()); }
    bool are_used(rank_t from) const { return in_[from].used >= script_.due(from, end_.me()); }
    bool is_lost(rank_t r) const { return in_[r].lost; }
    bool is_flooded(rank_t from) const { return in_[from].flooded; } // the flood has ended
    // When the rank began not to poll, by its clock.
    std::optional<std::uint64_t> ready_ns(rank_t r) const { return in_[r].ready_ns; }
    // Whether the message can be used now: a report waits until the message before it was used.
    bool may_use(const event& e, std::uint32_t n) const {
        return section_of(e, n) != section::report || in_[e.peer].find(n - 1) != nullptr;
    }

    // Checks an arrival. `number` becomes its place in the script.
    bool arrived(const event& e, std::uint32_t& number) {
        if (e.peer >= end_->size() || e.peer == end_.me())
            return end_.fail(transport_rule::identity, "a message of nobody");
        peer_state& p = in_[e.peer];
        if (p.lost) return end_.fail(transport_rule::loss, "a message of a rank that was reported lost");
        std::uint32_t n = p.arrived++;
        if (section_of(e, n) == section::cancelled &&
            e.envelope == script_.tag(e.peer, end_.me(), n + 1)) { // message n was taken back before it came
            p.had.emplace_back(n, false);
            ++p.used;
            n = p.arrived++;
        }
        if (!(e.envelope == script_.tag(e.peer, end_.me(), n)))
            return end_.fail(transport_rule::in_order, "a message is not the next one of its sender");
        if (e.bytes != (is_word(e, n) ? sizeof(word) : script_.content(e.peer, end_.me(), n).size()))
            return end_.fail(transport_rule::length, "a message arrives with another length");
        number = n;
        return true;
    }
    // Checks an arrival that was used. `data`: the payload; null: it was taken back, or was not
    // read.
    bool used(const event& e, std::uint32_t n, const std::byte* data) {
        peer_state& p = in_[e.peer];
        ++p.used;
        const section s = section_of(e, n);
        if (is_word(e, n)) return used_word(p, s, n, data);
        if (s == section::cancelled) p.had.emplace_back(n, data != nullptr);
        if (data == nullptr) return true;
        const auto expected = script_.content(e.peer, end_.me(), n);
        if (expected.empty() || std::memcmp(data, expected.data(), expected.size()) == 0) return true;
        return s == section::cancelled
                   ? end_.fail(transport_rule::cancelled, "a message has what its sender wrote after taking it back")
                   : end_.fail(transport_rule::same_payload, "a payload differs");
    }
    bool lost(rank_t r) {
        if (r <= end_.me() || r >= end_->size())
            return end_.fail(transport_rule::loss, "a rank is reported lost that is there");
        if (!have_arrived(r))
            return end_.fail(transport_rule::loss, "a rank is reported lost before all that it sent has arrived");
        if (in_[r].lost) return end_.fail(transport_rule::loss, "a rank is reported lost twice");
        in_[r].lost = true;
        return true;
    }

private:
    using word = process_script::word;
    struct peer_state {
        std::uint32_t arrived = 0, used = 0;
        // Messages that their sender may have taken back: number, and whether this rank got the
        // message. Kept until the sender's report comes.
        std::vector<std::pair<std::uint32_t, bool>> had{};
        const std::pair<std::uint32_t, bool>* find(std::uint32_t number) const {
            for (const auto& h : had)
                if (h.first == number) return &h;
            return nullptr;
        }
        bool lost = false, flooded = false;
        std::optional<std::uint64_t> ready_ns{};
    };

    bool is_word(const event& e, std::uint32_t n) const { return script_.is_word(e.peer, end_.me(), n, e.bytes); }
    bool used_word(peer_state& p, section s, std::uint32_t n, const std::byte* data) {
        word said{};
        if (data != nullptr) std::memcpy(said.data(), data, sizeof said);
        if (said[0] != ~std::uint64_t{n}) return end_.fail(transport_rule::same_payload, "a payload differs");
        if (s == section::report && said[1] == static_cast<std::uint64_t>(errc::ok) && !p.find(n - 1)->second)
            return end_.fail(transport_rule::cancelled, "a cancelled post ends with ok, but its message cannot be had");
        if (s == section::report) std::erase_if(p.had, [n](const auto& h) { return h.first == n - 1; });
        if (s == section::ready) p.ready_ns = said[1];
        p.flooded |= s == section::flood;
        return true;
    }

    process_end<T>& end_;
    const process_script& script_;
    std::vector<peer_state> in_; // by sender
};

} // namespace bough::testing::detail

#endif
