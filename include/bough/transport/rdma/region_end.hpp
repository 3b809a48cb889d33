// SPDX-License-Identifier: BSL-1.0
// One rank of bough::fabric_regions and bough::verbs_regions: memory that the others write over a
// device (device.hpp).
//
// Every write carries a ticket with its kind and its sender. So the target counts the writes of
// each peer that have landed, whatever order the network keeps. A flush asks the target "have as
// many landed as I have begun?"; the answer comes once they have (region_flushes.hpp). Greetings,
// questions, answers and the `bye` of a rank that leaves are writes too. Each pair of ranks has a
// line for them in front of the region, with at most one of each kind under way.
// A put of up to eager_bytes is copied into registered memory and is complete at once. A longer put
// of one span is written from where it lies, and is complete when the device has done with it. One
// of two spans is first joined in a copy.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_END_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_END_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/rdma/alive.hpp>
#include <bough/transport/rdma/buffers.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/greetings.hpp>
#include <bough/transport/rdma/lines.hpp>
#include <bough/transport/rdma/region_exposures.hpp>
#include <bough/transport/rdma/region_parts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaWriter Device>
class fabric_region_end {
public:
    using options_type = typename Device::options_type;

    fabric_region_end(std::unique_ptr<Device> device, const options_type& options, const fabric_group& g,
                      std::uint64_t region_bytes)
        : options_(options), group_(g), device_(std::move(device)),
          staged_(*device_, fabric_op::what::frame, Device::writes_from, std::max(options.eager_bytes, 64u),
                  std::clamp<std::size_t>(device_->most_sends() / 2, 1, 256)),
          received_(*device_, fabric_op::what::receive, Device::receives, 64, 512), peers_(g.size),
          bytes_((region_bytes + 63) / 64 * 64) {}

    ~fabric_region_end() {
        if (forked()) {
            for (auto& t : transfers_) (void)t.release();
            staged_.abandon();
            received_.abandon();
            (void)registered_.release();
            exposed_.abandon();
            (void)memory_.release(); // the device may have marked all of this so that only the parent may touch it
            device_->abandon();
            return;
        }
        ignore_exceptions([this] { leave(); }); // if memory for `bye` is lacking, peers notice the end themselves
        device_->close_endpoint();
    }

    // --- Joining ---

    // Allocates and registers the region. `card`: what the others must know to write here.
    status prepare(fabric_region_card& card) {
        const auto lines = static_cast<std::size_t>(group_.size + bytes_ / 64);
        memory_.reset(new (std::nothrow) line[lines]()); // zeros
        if (!memory_) return {.code = errc::no_resources, .argument = "region_bytes: there is not so much memory"};
        fabric_buffer* first = nullptr; // in which to say hello
        if (!device_->register_memory({memory_[0].bytes, lines * 64}, Device::is_written, registered_) || !refill() ||
            (first = staged_.get()) == nullptr)
            return {.code = errc::no_resources, .argument = "region_bytes: so much memory may not be registered"};
        staged_.put(*first);
        card = {device_->remote_address(memory_[0].bytes), Device::remote_key(registered_), bytes_};
        return {};
    }
    void watch(rank_t r, std::uint64_t process) {
        if (!watch_.add(r, process)) suspect(r);
    }
    // Tells where the regions of the others are.
    void reach(std::span<const fabric_region_card> cards) {
        meeting_ = true;
        for (rank_t r = 0; r != group_.size; ++r) peers_[r].place = cards[r], peers_[r].greets = r != group_.rank;
    }
    // Says hello to all and waits until all have said it and are connected (errors: greetings.hpp).
    status greet(std::uint64_t until_ns) {
        const auto missing = [this] {
            rank_t r = 0;
            while (r != group_.size && (r == group_.rank || (peers_[r].met && !peers_[r].greets))) ++r;
            return r;
        };
        const auto turn = [this] {
            for (rank_t r = 0; r != group_.size; ++r)
                if (peers_[r].greets) peers_[r].greets = !say(r, ticket::hello, 1);
            for (bool more = true; more;) more = gather();
        };
        return await_greetings(
            group_, *device_, until_ns, turn, missing, [this] { return staged_.in_use() == 0; },
            [this](rank_t r) { return died_early(r); });
    }
    void begin() noexcept { // all ranks have met
        meeting_ = false;
        joined_ = true;
    }

    // --- What a RemoteWriteTransport does ---

    const fabric_group& who() const noexcept { return group_; }
    const Device& device() const noexcept { return *device_; }
    bool forked() const noexcept { return forks() != forks_; }
    std::span<std::byte> region() const noexcept {
        return {memory_[0].bytes + std::size_t{64} * group_.size, static_cast<std::size_t>(bytes_)};
    }
    // How many puts of that peer have landed here.
    std::uint64_t landed(rank_t from) const noexcept { return peers_[from].landed.all(); }

    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        if (to >= group_.size || offset > bytes_ || first.size() > bytes_ - offset ||
            second.size() > bytes_ - offset - first.size())
            return posted::failed;
        return put(to, place_of(to, std::uint64_t{64} * group_.size + offset), first, second, id);
    }
    exposure expose(std::span<std::byte> memory) {
        return forked() || memory.empty() ? exposure{} : exposed_.expose(*device_, memory);
    }
    void conceal(const exposure& e) noexcept {
        if (!forked()) exposed_.conceal(e);
    }
    posted put_exposed(rank_t to, const exposure& at, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= group_.size || !at) return posted::failed;
        return put(to, exposures::place_of(at), bytes, {}, id);
    }
    posted flush(rank_t to, std::uint64_t id) {
        if (to >= group_.size || to == group_.rank || forked() || peers_[to].reported) return posted::failed;
        peer& p = peers_[to];
        if (p.suspected_ns != 0 || p.left) return posted::would_block;
        if (p.begun.all() == p.known_landed && p.waiting == 0) return posted::complete;
        flushes_.add({to, id, p.begun.all(), p.waiting != 0 ? posted_ + 1 : 0});
        ask(to);
        return posted::pending;
    }
    std::size_t poll(std::span<event> events) {
        if (forked()) return 0;
        if (stalled_) go_on();
        for (int turns = 0; turns != 8 && gather();) ++turns;
        if (ready_.empty()) ++idle_, look();
        const std::size_t found = std::min(events.size(), ready_.size());
        for (std::size_t i = 0; i != found; ++i) {
            events[i] = ready_[i];
            if (ready_[i].what == event::kind::lost) peers_[ready_[i].peer].reported = true;
        }
        ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(found));
        return found;
    }

    // --- What has left (GatheringRemoteWrites): one number for all writes of this rank ---

    bool unsent() const noexcept {
        const auto keeps = [alone = device_->sends_alone()](const peer& p) { return p.keeps_back(alone); };
        return (staged_.in_use() != 0 || !transfers_.empty()) && std::any_of(peers_.begin(), peers_.end(), keeps);
    }
    std::uint64_t accepted() const noexcept { return posted_; }
    std::uint64_t handed_over(rank_t to) noexcept {
        const bool alone = device_->sends_alone();
        if (!peers_[to].keeps_back(alone)) return posted_;
        return first_kept_back(to, alone, transfers_, staged_, posted_ + 1) - 1;
    }

private:
    using exposures = fabric_exposures<Device>;
    using line = fabric_line;
    using ticket = fabric_ticket;
    using peer = fabric_region_peer;
    using transfer = fabric_region_transfer<typename Device::memory>;
    using open_flush = fabric_flushes::open;

    // How much of a shared supply one peer may take: it may not poll, and the others need the rest.
    std::size_t share_of(std::size_t all) const noexcept {
        return group_.size > 2 ? std::max<std::size_t>(all / 2, 1) : all;
    }
    fabric_target place_of(rank_t to, std::uint64_t at) const noexcept {
        return {peers_[to].place.address + at, peers_[to].place.key};
    }
    std::byte* line_of(rank_t r) noexcept { return memory_[r].bytes; }

    posted put(rank_t to, const fabric_target& at, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        peer& p = peers_[to];
        if (to == group_.rank || forked() || p.reported) return posted::failed;
        if (p.suspected_ns != 0 || p.left) return posted::would_block; // poll() will report the loss
        const std::size_t bytes = first.size() + second.size();
        if (bytes == 0) return posted::complete;
        if (bytes > options_.eager_bytes) return put_long(to, at, first, second, id);
        fabric_buffer* b = p.staged < share_of(staged_.most()) ? staged_.get() : nullptr;
        if (b == nullptr) return posted::would_block;
        if (!first.empty()) std::memcpy(b->memory, first.data(), first.size());
        if (!second.empty()) std::memcpy(b->memory + first.size(), second.data(), second.size());
        b->length = bytes;
        if (!write(*b, to, at, ticket::data_of(p.kind))) return posted::would_block;
        ++p.begun.of[p.kind];
        return posted::complete;
    }
    // False: the device does not take it, now or ever. The buffer is free again.
    bool write(fabric_buffer& b, rank_t to, const fabric_target& at, ticket::what kind) {
        b.op.peer = to;
        const bool taken = transmit(to, {{b.memory, b.length}, b.descriptor, &b.op}, at, kind);
        if (!taken) return staged_.put(b), false;
        b.number = ++posted_;
        ++peers_[to].staged;
        if (peers_[to].left) staged_.raise_limit(1);
        return true;
    }
    bool transmit(rank_t to, const fabric_piece& piece, const fabric_target& at, ticket::what kind) {
        const fabric_result result = device_->write(to, piece, at.address, at.key, ticket::make(kind, group_.rank));
        if (result == fabric_result::broken && !meeting_) suspect(to);
        if (result == fabric_result::ok) ++peers_[to].flying;
        return result == fabric_result::ok;
    }
    // Writes a word into this rank's line of the peer's memory.
    bool say(rank_t to, ticket::what kind, std::uint64_t word) {
        fabric_buffer* b = staged_.get(true);
        if (b == nullptr) return false;
        std::memcpy(b->memory, &word, b->length = sizeof word);
        return write(*b, to, place_of(to, std::uint64_t{64} * group_.rank + 8 * (kind - ticket::hello)), kind);
    }
    std::uint64_t word_of(rank_t from, ticket::what kind) noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, line_of(from) + 8 * (kind - ticket::hello), sizeof word);
        return word;
    }

    // --- Long puts ---

    BOUGH_COLD posted put_long(rank_t to, const fabric_target& at, std::span<const std::byte> first,
                               std::span<const std::byte> second, std::uint64_t id) {
        std::size_t all = 0, to_it = 0;
        for (const auto& t : transfers_)
            if (!t->over) ++all, to_it += t->op.peer == to;
        if (all >= most_transfers || to_it >= share_of(most_transfers)) return posted::would_block;
        auto t = std::make_unique<transfer>(to, at, first, second, id, posted_ + 1);
        if (!device_->register_memory(t->from, Device::writes_from, t->memory)) return posted::would_block;
        const posted result = t->owned ? posted::complete : posted::pending;
        transfers_.push_back(std::move(t));
        ++posted_;
        ++peers_[to].waiting;
        push(*transfers_.back());
        return result;
    }
    // The next piece.
    void push(transfer& t) {
        peer& p = peers_[t.op.peer];
        t.piece = std::min<std::uint64_t>(t.from.size() - t.moved, device_->most_bytes());
        const fabric_piece piece{t.from.subspan(t.moved, t.piece), Device::descriptor(t.memory), &t.op};
        t.flying = transmit(t.op.peer, piece, {t.to.address + t.moved, t.to.key}, ticket::data_of(p.kind));
        if (!t.flying) return void(stalled_ = true);
        ++p.begun.of[p.kind];
        if (!t.is_under_way()) return;
        --p.waiting;
        flushes_.count(t.op.peer, p.begun.all(), [this](const open_flush& f) {
            return std::any_of(transfers_.begin(), transfers_.end(), [&f](const auto& x) { return x->is_before(f); });
        });
        ask(t.op.peer);
    }
    void pushed(transfer& t, bool well) {
        t.flying = false;
        t.moved += t.piece;
        if (well && !t.over && t.moved != t.from.size()) return push(t);
        end(t, well ? errc::ok : errc::peer_dead);
        if (t.moved != t.from.size()) { // the rest will never be under way, so no flush may wait for it
            --peers_[t.op.peer].waiting;
            flushes_.end(errc::peer_dead, ready_,
                         [&](const open_flush& f) { return f.to == t.op.peer && f.before > t.number; });
        }
        std::erase_if(transfers_, [&](const auto& x) { return x.get() == &t; });
    }
    void end(transfer& t, errc code) {
        if (std::exchange(t.over, true) || t.owned) return;
        ready_.push_back({.what = event::kind::complete, .code = code, .peer = t.op.peer, .id = t.id});
    }

    // --- Questions and answers ---

    // Asks the next question, if a flush needs one.
    void ask(rank_t to) {
        peer& p = peers_[to];
        if (p.asked != 0 || !flushes_.asks(to, p.known_landed)) return;
        const std::uint64_t word = p.begun.question(p.kind);
        p.asks = !say(to, ticket::question, word);
        if (p.asks) return void(stalled_ = true);
        p.asked = word;
        p.asked_begun = p.begun.all();
        p.kind ^= 1;
    }
    void answer(rank_t to) {
        peer& p = peers_[to];
        if (p.question == 0 || !p.landed.answers(p.question)) return;
        p.answers = !say(to, ticket::answer, p.question);
        if (p.answers)
            stalled_ = true;
        else
            p.question = 0;
    }
    void answered(rank_t from) {
        peer& p = peers_[from];
        if (p.asked == 0 || word_of(from, ticket::answer) != p.asked) return; // does not answer this rank's question
        p.known_landed = p.asked_begun;
        p.asked = 0;
        flushes_.landed(from, p.known_landed, ready_);
        ask(from);
    }
    // Tries again what the device did not take.
    BOUGH_COLD void go_on() {
        stalled_ = false;
        for (rank_t r = 0; r != group_.size; ++r) {
            peer& p = peers_[r];
            if (p.suspected_ns == 0 && p.says_heard) stalled_ |= p.says_heard = !say(r, ticket::bye_heard, 1);
            if (p.left || p.suspected_ns != 0) continue;
            if (p.asks) ask(r);
            if (p.answers) answer(r);
            if (p.says_bye) say_bye(r);
        }
        for (std::size_t i = 0; i != transfers_.size(); ++i) {
            transfer& t = *transfers_[i];
            if (!t.flying && !t.over && peers_[t.op.peer].suspected_ns == 0) push(t);
        }
    }

    // --- What the device says ---

    bool gather() {
        std::array<fabric_done, 8> entries;
        const std::size_t n = device_->poll(entries);
        for (std::size_t i = 0; i != n; ++i) {
            const fabric_done& e = entries[i];
            if (e.how == fabric_done::way::written)
                written(e);
            else
                ended(*e.op, e.how == fabric_done::way::ok);
        }
        return n != 0;
    }
    void ended(fabric_op& op, bool well) {
        if (op.kind == fabric_op::what::receive) return received_.put(received_[op.index]), void(refill());
        if (!well && meeting_ && op.peer < group_.size) peers_[op.peer].greets = !peers_[op.peer].left; // hello again
        if (!well && !meeting_ && op.peer < group_.size) suspect(op.peer);
        if (op.kind == fabric_op::what::injected) return; // a probe
        peer& p = peers_[op.peer];
        --p.flying;
        if (op.kind == fabric_op::what::frame) {
            --p.staged;
            staged_[op.index].number = 0;
            if (p.left) staged_.lower_limit(1);
            return staged_.put(staged_[op.index]);
        }
        pushed(reinterpret_cast<transfer&>(op), well);
    }
    void written(const fabric_done& e) {
        if (e.op != nullptr) received_.put(received_[e.op->index]), refill();
        const rank_t from = ticket::from_of(e.ticket);
        if (from >= group_.size || from == group_.rank || peers_[from].left) return;
        peer& p = peers_[from];
        p.quiet = 0;
        switch (ticket::kind_of(e.ticket)) {
        case ticket::data:
        case ticket::data_too:
            ++p.landed.of[ticket::kind_of(e.ticket) == ticket::data ? 0 : 1];
            if (p.question != 0) answer(from);
            if (p.leaves && p.landed.all() >= p.last) lose(from);
            return;
        case ticket::hello: p.met = true; return;
        case ticket::question: p.question = word_of(from, ticket::question); return answer(from);
        case ticket::answer: return answered(from);
        case ticket::bye_heard: p.heard = true; return;
        case ticket::bye:
            p.last = word_of(from, ticket::bye);
            p.leaves = true;
            p.says_heard = !say(from, ticket::bye_heard, 1);
            stalled_ |= p.says_heard;
            if (p.landed.all() >= p.last) lose(from);
        }
    }
    // Posts receives for writes to use up, on devices where they do.
    bool refill() {
        if constexpr (Device::written_uses_receive) {
            const std::size_t most = std::min<std::size_t>(device_->most_receives(), 512);
            while (received_.in_use() < most) {
                fabric_buffer* b = received_.get();
                if (b == nullptr) return received_.in_use() != 0;
                if (device_->receive(*b, 64)) continue;
                received_.put(*b);
                return received_.in_use() != 0;
            }
        }
        return true;
    }

    // --- Peers that are gone ---

    BOUGH_COLD void suspect(rank_t r) {
        peer& p = peers_[r];
        if (p.left || p.suspected_ns != 0) return;
        p.suspected_ns = steady_now_ns();
        ++suspects_;
    }
    // While ranks meet: a rank that is gone before both have said hello (see greetings.hpp).
    rank_t died_early(rank_t late) {
        watch_.look([this](rank_t r) { suspect(r); });
        return first_dead(peers_, [&](rank_t r) { return !peers_[r].met || late == r || late == group_.size; });
    }
    // What is checked after a poll that found nothing.
    void look() {
        if (suspects_ != 0) judge();
        if (idle_ % 16 != 0) return;
        const auto is_there = [this](rank_t r) { return r != group_.rank && !peers_[r].left; };
        (void)watch_.look(*device_, options_, group_.size, steady_now_ns(), is_there, [this](rank_t r) { suspect(r); });
    }
    BOUGH_COLD void judge() {
        const std::uint64_t now = steady_now_ns();
        for (rank_t r = 0; r != group_.size; ++r) {
            peer& p = peers_[r];
            if (p.suspected_ns == 0 || p.left || ++p.quiet < 16 || now - p.suspected_ns < 2'000'000) continue;
            device_->disconnect(r);
            const bool reads = std::any_of(transfers_.begin(), transfers_.end(),
                                           [r](const auto& t) { return t->op.peer == r && t->flying; });
            // Some providers never say that a write failed because its target is gone.
            if (!reads || now - p.suspected_ns > grace_ns) lose(r, errc::peer_dead);
        }
    }
    // Nothing more will come from a rank. ok: it said so itself.
    BOUGH_COLD void lose(rank_t r, errc why = errc::ok) {
        peer& p = peers_[r];
        if (std::exchange(p.left, true)) return;
        staged_.raise_limit(p.staged); // its writes may never end, and the other peers need buffers
        p.left_ns = steady_now_ns();
        if (p.suspected_ns != 0) --suspects_;
        p.asks = p.answers = p.says_bye = false;
        for (auto& t : transfers_)
            if (t->op.peer == r) end(*t, errc::peer_dead);
        std::erase_if(transfers_, [r](const auto& t) { return t->op.peer == r && !t->flying; });
        flushes_.end(errc::peer_dead, ready_, [r](const open_flush& f) { return f.to == r; });
        ready_.push_back({.what = event::kind::lost, .code = why, .peer = r});
    }

    void say_bye(rank_t r) {
        peer& p = peers_[r];
        p.says_bye = p.waiting != 0 || !say(r, ticket::bye, p.begun.all());
        stalled_ |= p.says_bye;
    }
    // Sends out what was put, then says bye to all. Takes at most `linger_ns` in all.
    void leave() {
        if (!joined_) return;
        const std::uint64_t last = deadline_after(steady_now_ns(), options_.linger_ns);
        for (rank_t r = 0; r != group_.size; ++r)
            if (r != group_.rank && !peers_[r].left) say_bye(r);
        peers_[group_.rank].left = true; // so that it does not wait for itself
        const auto all_done = [this](std::uint64_t now) {
            return std::all_of(peers_.begin(), peers_.end(), [&](const peer& p) { return p.is_done(now, grace_ns); });
        };
        std::array<event, 8> events;
        for (std::uint64_t now = steady_now_ns(); !all_done(now) && now < last; now = steady_now_ns())
            if (poll(events) == 0) std::this_thread::yield();
    }

    static constexpr std::size_t most_transfers = 64;
    static constexpr std::uint64_t grace_ns = 20'000'000; // for what is under way to a peer that is gone

    options_type options_;
    fabric_group group_;
    std::uint32_t forks_ = forks();
    std::unique_ptr<line[]> memory_; // a line for each peer, then the region
    std::unique_ptr<Device> device_;
    typename Device::memory registered_;
    exposures exposed_;
    fabric_buffers<Device> staged_, received_;
    std::vector<std::unique_ptr<transfer>> transfers_; // they do not move, because the device points to them
    fabric_flushes flushes_;
    std::vector<peer> peers_;
    std::vector<event> ready_; // not handed over yet
    fabric_watch watch_;
    std::uint64_t bytes_;
    std::uint64_t posted_ = 0; // the number of the last write or long put
    std::uint32_t idle_ = 0, suspects_ = 0;
    bool stalled_ = false; // something waits for the device
    bool meeting_ = false, joined_ = false;
};

} // namespace bough::detail

#endif
