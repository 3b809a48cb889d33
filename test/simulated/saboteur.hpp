// SPDX-License-Identifier: BSL-1.0
// A transport that breaks one rule, once or always, on one rank: the canary of a campaign.
#ifndef BOUGH_TEST_SIMULATED_SABOTEUR_HPP
#define BOUGH_TEST_SIMULATED_SABOTEUR_HPP

#include "simulated/campaign.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace test {

struct sabotage_plan {
    sabotage how = sabotage::none;
    rank_t culprit = 0;
    std::uint64_t after = 0; // chances let go by
};

template <class T>
class saboteur {
public:
    saboteur(T inner, const sabotage_plan& plan)
        : inner_(std::move(inner)), how_(plan.culprit == inner_.rank() ? plan.how : sabotage::none),
          after_(plan.after) {}

    rank_t rank() const noexcept { return inner_.rank(); }
    rank_t size() const noexcept { return inner_.size(); }
    std::uint64_t now_ns() const noexcept { return inner_.now_ns(); }
    bough::posted post_send(rank_t to, const bough::envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (how_ == sabotage::none) return inner_.post_send(to, tag, bytes, id);
        const bool is_abort = tag.segment == 0xffff'ffffu;
        const bool is_control = tag.segment == 0xffff'fffeu;
        if (how_ == sabotage::drop_abort && is_abort) return bough::posted::complete;
        if (how_ == sabotage::drop_control && is_control) return bough::posted::complete;
        if (how_ == sabotage::corrupt_payload && !is_abort && !is_control && !bytes.empty() && chosen()) {
            std::vector<std::byte> changed(bytes.begin(), bytes.end());
            changed[bytes.size() / 2] ^= std::byte{4};
            const bough::posted result = inner_.post_send(to, tag, changed, id);
            kept_.push_back(std::move(changed)); // a long one is read later
            return result;
        }
        if (how_ == sabotage::swap_messages) {
            if (!held_ && !swapped_ && bytes.size() <= 64 && chosen()) {
                held_ = message{to, tag, {bytes.begin(), bytes.end()}, id};
                return bough::posted::complete;
            }
            const bough::posted result = inner_.post_send(to, tag, bytes, id);
            if (held_ && held_->to == to && result != bough::posted::would_block) {
                (void)inner_.post_send(held_->to, held_->tag, held_->bytes, held_->id ^ std::uint64_t{1} << 62);
                kept_.push_back(std::move(held_->bytes));
                held_.reset();
                swapped_ = true;
            }
            return result;
        }
        return inner_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<bough::event> events) {
        std::size_t found = inner_.poll(events);
        if (how_ != sabotage::forget_completion && how_ != sabotage::forget_loss) return found;
        const auto unwanted = how_ == sabotage::forget_loss ? bough::event::kind::lost : bough::event::kind::complete;
        std::size_t kept = 0;
        for (std::size_t i = 0; i != found; ++i)
            if (events[i].what != unwanted) events[kept++] = events[i];
        return kept;
    }
    bough::posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return inner_.take(handle, into, id);
    }
    bool claim(std::uint64_t handle) requires bough::InPlaceTransport<T> { return inner_.claim(handle); }
    void release(std::uint64_t handle) { inner_.release(handle); }
    bough::errc cancel(std::uint64_t id) { return inner_.cancel(id); }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) { inner_.wait(idle, deadline_ns); }

private:
    struct message {
        rank_t to;
        bough::envelope tag;
        std::vector<std::byte> bytes;
        std::uint64_t id;
    };
    bool chosen() { return after_ != 0 ? (--after_, false) : true; }

    T inner_;
    sabotage how_;
    std::uint64_t after_;
    bool swapped_ = false;
    std::optional<message> held_;
    std::vector<std::vector<std::byte>> kept_;
};

} // namespace test

#endif
