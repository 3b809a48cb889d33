// SPDX-License-Identifier: BSL-1.0
// The long puts of a rank: each is registered, and written in pieces from where it lies. One of two
// spans is first joined in a copy, and is complete for its user at once.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_PUTS_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_PUTS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/rdma/region_core.hpp>
#include <bough/transport/rdma/region_exposures.hpp>
#include <bough/transport/rdma/region_flushes.hpp>
#include <bough/transport/rdma/region_questions.hpp>
#include <bough/transport/rdma/region_writes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaWriter Device>
class fabric_long_puts {
public:
    fabric_long_puts(fabric_region_core<Device>& core, fabric_questions<Device>& questions)
        : core_(&core), questions_(&questions), waiting_(core.group.size) {}

    BOUGH_COLD posted put(rank_t to, const fabric_target& at, std::span<const std::byte> first,
                          std::span<const std::byte> second, std::uint64_t id) {
        std::size_t all = 0, to_it = 0;
        for (const auto& x : list_)
            if (!x->over) ++all, to_it += x->peer == to;
        if (to_it != 0 && (all >= most_puts || to_it >= share_of_peer(most_puts, core_->group.size)))
            return posted::would_block;
        auto made = std::make_unique<long_put>(to, at, first, second, id, core_->writes.accepted() + 1);
        if (!core_->device->register_memory(made->from, Device::writes_from, made->memory)) return posted::would_block;
        core_->events.make_room();
        list_.push_back(std::move(made));
        long_put& p = *list_.back();
        if (!p.owned) core_->events.expect();
        const posted result = p.owned ? posted::complete : posted::pending;
        (void)core_->writes.next_number(); // p.number
        ++waiting_[to];
        write(p);
        return result;
    }
    // The device has done with a piece.
    void written(fabric_op& op, bool well) {
        long_put& p = static_cast<long_put&>(op);
        p.flying = false;
        p.moved += p.piece;
        if (well && !p.over && p.moved != p.from.size()) return write(p);
        end(p, well ? errc::ok : errc::peer_dead);
        if (p.moved != p.from.size()) {
            --waiting_[p.peer];
            questions_->has_failed(p.peer, p.number);
        }
        std::erase_if(list_, [&](const auto& x) { return x.get() == &p; });
    }
    // Tries again what the device did not take.
    BOUGH_COLD void go_on() {
        for (std::size_t i = 0; i != list_.size(); ++i)
            if (!list_[i]->flying && !list_[i]->over && !core_->presence.seems_dead(list_[i]->peer)) write(*list_[i]);
    }
    BOUGH_COLD void lose(rank_t r) {
        for (auto& x : list_)
            if (x->peer == r) end(*x, errc::peer_dead);
        std::erase_if(list_, [r](const auto& x) { return x->peer == r && !x->flying; });
    }

    bool empty() const noexcept { return list_.empty(); }
    // Whether a part of a long put to that rank is not under way.
    bool are_waiting(rank_t to) const noexcept { return waiting_[to] != 0; }
    // Whether the device is reading what goes to that rank.
    bool are_flying(rank_t to) const noexcept {
        return std::any_of(list_.begin(), list_.end(), [to](const auto& x) { return x->peer == to && x->flying; });
    }
    // The lowest number among the long puts to a rank that have not left; `none`: there are none.
    // `alone`: what the device has taken leaves by itself.
    std::uint64_t first_kept_back(rank_t to, bool alone, std::uint64_t none) const noexcept {
        std::uint64_t first = none;
        for (const auto& x : list_)
            if (x->peer == to && !(alone && x->is_under_way())) first = std::min(first, x->number);
        return first;
    }
    // In a forked child: forgets them, because they belong to the parent.
    void abandon() noexcept {
        for (auto& x : list_) (void)x.release();
    }

private:
    static constexpr std::size_t most_puts = 64;

    struct long_put : fabric_op {
        long_put(rank_t to, const fabric_target& target, std::span<const std::byte> first,
                 std::span<const std::byte> second, std::uint64_t name, std::uint64_t count)
            : owned(!first.empty() && !second.empty()), id(name), number(count), at(target),
              from(first.empty() ? second : first) {
            kind = what::push;
            peer = to;
            if (!owned) return;
            whole.assign(first.begin(), first.end());
            whole.insert(whole.end(), second.begin(), second.end());
            from = whole;
        }
        bool flying = false, over = false, owned;
        std::uint64_t id, number; // `number`: its place among all writes and long puts of this rank
        std::size_t moved = 0, piece = 0;
        fabric_target at;
        std::span<const std::byte> from;
        std::vector<std::byte> whole{}; // both spans joined, if `owned`
        typename Device::memory memory{};

        // Whether the device has taken all of it.
        bool is_under_way() const noexcept { return moved + (flying ? piece : 0) == from.size(); }
    };

    // Writes the next piece.
    void write(long_put& p) {
        const rank_t to = p.peer;
        p.piece = std::min(p.from.size() - p.moved, core_->device->most_bytes());
        const fabric_piece piece{p.from.subspan(p.moved, p.piece), Device::descriptor(p.memory), &p};
        p.flying = core_->writes.write_piece(to, piece, {p.at.address + p.moved, p.at.key}, questions_->kind_to(to));
        if (!p.flying) return core_->writes.stall();
        questions_->has_begun(to);
        if (!p.is_under_way()) return;
        --waiting_[to];
        questions_->is_under_way(to, [this](const fabric_flushes::open& f) {
            return std::any_of(list_.begin(), list_.end(), [&f](const auto& x) {
                return x->peer == f.to && f.before > x->number && !x->is_under_way();
            });
        });
    }
    void end(long_put& p, errc code) {
        if (!std::exchange(p.over, true) && !p.owned) core_->events.complete(p.id, code, p.peer);
    }

    fabric_region_core<Device>* core_;
    fabric_questions<Device>* questions_;
    std::vector<std::unique_ptr<long_put>> list_; // they do not move, because the device points to them
    // For each rank: how many long puts to it are not all under way.
    std::vector<std::uint32_t> waiting_;
};

} // namespace bough::detail

#endif
