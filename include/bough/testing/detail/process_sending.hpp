// SPDX-License-Identifier: BSL-1.0
// process_sending: the posts of a rank in check_transport_process. Once a post is over, its bytes
// are overwritten: a transport that still reads them sends something else.
#ifndef BOUGH_TESTING_DETAIL_PROCESS_SENDING_HPP
#define BOUGH_TESTING_DETAIL_PROCESS_SENDING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/testing/detail/process_end.hpp>
#include <bough/testing/detail/process_script.hpp>
#include <bough/testing/transport_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing::detail {

template <class T>
class process_sending {
public:
    process_sending(process_end<T>& end, const process_script& script)
        : end_(end), script_(script), accepted_(end->size(), 0) {}

    std::size_t pending() const { return pending_.size(); }
    // How many posts to the rank were accepted so far; the number of its next message.
    std::uint32_t accepted(rank_t to) const { return accepted_[to]; }
    // How the last post that was pending has ended.
    errc outcome() const { return outcome_; }

    posted post(rank_t to, std::span<const std::byte> bytes) {
        auto copy = std::make_unique<std::vector<std::byte>>(bytes.begin(), bytes.end());
        const std::uint64_t id = end_.new_id();
        const posted result = end_->post_send(to, script_.tag(end_.me(), to, accepted_[to]), *copy, id);
        if (result == posted::failed) end_.fail(transport_rule::loss, "a send to a rank that is there fails");
        if (result == posted::complete) std::fill(copy->begin(), copy->end(), over);
        if (result == posted::pending) pending_.push_back({id, std::move(copy)});
        if (result == posted::complete || result == posted::pending) ++accepted_[to], end_.move();
        return result;
    }
    // The next message of the script. Pre: it is no word.
    std::span<const std::byte> next(rank_t to) const { return script_.content(end_.me(), to, accepted_[to]); }

    // From now on the outcome is ok, until another post that was pending ends.
    void forget_outcome() { outcome_ = errc::ok; }
    // Takes the last post back. Pre: it is pending.
    bool cancel_last() {
        pending_.back().given_up = true;
        if (end_->cancel(pending_.back().id) == errc::ok) return true;
        return end_.fail(transport_rule::cancelled, "a pending post cannot be cancelled");
    }

    bool has(std::uint64_t id) const { return find(id) != pending_.end(); }
    // Pre: has(e.id).
    bool completed(const event& e) {
        const auto it = find(e.id);
        if (e.code != errc::ok && !(it->given_up && e.code == errc::cancelled))
            return end_.fail(transport_rule::one_event, "a send to a rank that is there ends with an error");
        std::fill(it->bytes->begin(), it->bytes->end(), over);
        outcome_ = e.code;
        graveyard_.push_back(std::move(pending_[static_cast<std::size_t>(it - pending_.begin())].bytes));
        if (graveyard_.size() > 8) graveyard_.erase(graveyard_.begin());
        pending_.erase(it);
        return true;
    }

private:
    static constexpr std::byte over{0xdd};
    struct outgoing {
        std::uint64_t id;
        std::unique_ptr<std::vector<std::byte>> bytes;
        bool given_up = false;
    };

    auto find(std::uint64_t id) const {
        return std::find_if(pending_.begin(), pending_.end(), [id](const outgoing& o) { return o.id == id; });
    }

    process_end<T>& end_;
    const process_script& script_;
    std::vector<std::uint32_t> accepted_; // by receiver
    std::vector<outgoing> pending_;
    // Stays readable: a late read finds `over`.
    std::vector<std::unique_ptr<std::vector<std::byte>>> graveyard_;
    errc outcome_ = errc::ok;
};

} // namespace bough::testing::detail

#endif
