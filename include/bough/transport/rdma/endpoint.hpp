// SPDX-License-Identifier: BSL-1.0
// One rank of bough::fabric and bough::verbs: its messages, payloads and peers over a device
// (op.hpp). A long message is an announcement, then the receiver's `go` with a place, then a remote
// write. Until `go` comes, it can be taken back (T9).
#ifndef BOUGH_TRANSPORT_RDMA_ENDPOINT_HPP
#define BOUGH_TRANSPORT_RDMA_ENDPOINT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/rdma/alive.hpp>
#include <bough/transport/rdma/buffers.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/greetings.hpp>
#include <bough/transport/rdma/lines.hpp>
#include <bough/transport/rdma/transfer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMessenger Device>
class fabric_endpoint {
public:
    using options_type = typename Device::options_type;

    fabric_endpoint(std::unique_ptr<Device> device, const options_type& options, const fabric_group& g)
        : options_(options), group_(g), device_(std::move(device)), lines_(*device_, options, g), peers_(g.size) {}

    ~fabric_endpoint() {
        if (forked()) {
            pushes_.abandon();
            pulls_.abandon();
            lines_.abandon();
            device_->abandon();
            return;
        }
        ignore_exceptions([this] { leave(); }); // if memory for `bye` is lacking, peers notice the end themselves
        device_->close_endpoint();
    }

    const fabric_group& who() const noexcept { return group_; }
    bool forked() const noexcept { return forks() != forks_; }
    std::uint64_t strangers() const noexcept { return strangers_ + lines_.strangers(); }
    const Device& device() const noexcept { return *device_; }
    Device& device() noexcept { return *device_; }

    // --- Joining ---

    // Allocates what is needed to greet the others. May fail on this rank alone.
    status prepare() {
        if (lines_.prepare()) return {};
        return {.code = errc::no_resources, .argument = "eager_bytes, window: so much memory may not be registered"};
    }
    void watch(rank_t r, std::uint64_t process) {
        if (!watch_.add(r, process)) suspect(r, errc::peer_dead);
    }
    // Says hello to all and waits until all have said it (errors: greetings.hpp).
    status meet(std::uint64_t until_ns) {
        for (rank_t r = 0; r != group_.size && !meeting_; ++r)
            if (r != group_.rank) lines_.say(r, fabric_frame::hello);
        lines_.set_meeting(meeting_ = true);
        const auto turn = [this] {
            lines_.flush();
            for (bool more = true; more;) more = gather(8);
        };
        return await_greetings(
            group_, *device_, until_ns, turn, [this] { return lines_.missing(); }, [this] { return lines_.all_sent(); },
            [this](rank_t late) { return died_early(late); });
    }
    void begin() noexcept {
        joined_ = true;
        lines_.set_meeting(false);
    }

    // --- The transport ---

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= group_.size || to == group_.rank || forked()) return posted::failed;
        peer& p = peers_[to];
        if (p.left || p.suspected_ns != 0) return p.reported ? posted::failed : posted::would_block;
        if (!lines_.has_room(to)) return posted::would_block;
        if (bytes.size() <= options_.eager_bytes)
            return lines_.send(to, fabric_frame::message, tag, bytes) == fabric_result::ok ? posted::complete
                                                                                           : posted::would_block;
        const fabric_announcement about{bytes.size(), p.announced, 0};
        auto push = pushes_.make(fabric_op::what::push, to, id); // before anything is sent, because this may throw
        if (lines_.send(to, fabric_frame::announcement, tag, std::as_bytes(std::span(&about, 1))) != fabric_result::ok)
            return posted::would_block;
        push->number = p.announced++;
        push->from = bytes;
        pushes_.add(std::move(push));
        return posted::pending;
    }

    // Whether poll() has something to report already. (A flush reads completions, too.)
    bool has_found() const noexcept { return next_ready_ != ready_.size() || lines_.has_next(); }
    std::size_t poll(std::span<event> events) {
        if (forked()) return 0;
        lines_.flush();
        if (stalled_) push_on();
        std::size_t found = 0;
        bool more = !closed_;
        for (int turns = 0;; ++turns) {
            while (found != events.size() && has_found()) found += hand_over(events[found]);
            if (found == events.size() || !more || turns == 64) break;
            more = gather(events.size() - found);
        }
        if (found == 0 && !events.empty()) look(++idle_);
        return found;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        if (forked()) return posted::failed;
        fabric_buffer& b = lines_.buffer(handle);
        const fabric_arrival a(b);
        if (into.size() != a.bytes) return posted::failed;
        if (a.head.kind == fabric_frame::message) {
            if (!into.empty()) std::memcpy(into.data(), b.memory + sizeof a.head, into.size());
            lines_.use_up(b, a.head.from);
            lines_.give_room(a.head.from);
            return posted::complete;
        }
        if (peers_[a.head.from].left) return posted::failed;
        auto pull = pulls_.make(fabric_op::what::pull, a.head.from, id);
        pull->number = a.number;
        pull->into = into;
        pull->place = {0, 0, a.number, ++tickets_};
        const std::uint64_t use = group_.writes ? Device::is_written : Device::receives;
        if (!device_->register_memory(into, use, pull->memory)) return posted::failed;
        if (group_.writes) {
            pull->place.address = device_->remote_address(into.data());
            pull->place.key = Device::remote_key(pull->memory);
        } else if (!receive_piece(*pull)) {
            return posted::would_block;
        }
        lines_.use_up(b, a.head.from);
        lines_.say(a.head.from, fabric_frame::go, pull->place);
        pulls_.add(std::move(pull));
        return posted::pending;
    }
    // Only short messages can be claimed: a long one must be taken.
    bool claim(std::uint64_t handle) noexcept {
        return !forked() && fabric_arrival(lines_.buffer(handle)).head.kind == fabric_frame::message;
    }
    void release(std::uint64_t handle) {
        if (forked()) return;
        fabric_buffer& b = lines_.buffer(handle);
        const fabric_arrival a(b);
        lines_.use_up(b, a.head.from);
        if (a.head.kind == fabric_frame::announcement && !peers_[a.head.from].left)
            lines_.say(a.head.from, fabric_frame::done, {0, 0, a.number, 0});
        else
            lines_.give_room(a.head.from);
    }

    errc cancel(std::uint64_t id) {
        if (forked()) return errc::forked_child;
        const auto is_it = [id](const transfer& t) { return t.id == id && !t.over; };
        transfer* t = pushes_.find(is_it);
        if (t != nullptr && t->stage == transfer::waiting) return end(*t, errc::cancelled), errc::ok;
        if (t == nullptr) t = pulls_.find(is_it);
        if (t != nullptr) { // under way, or asked for: its event comes soon and tells how it ended
            if (t->given_up_ns == 0) t->given_up_ns = steady_now_ns();
            return errc::ok;
        }
        for (std::size_t i = next_ready_; i != ready_.size(); ++i) // it is over, but its event was not handed over yet
            if (ready_[i].what == event::kind::complete && ready_[i].id == id) return errc::ok;
        return errc::invalid_argument;
    }

    // GatheringTransport. Frames that arrive during a flush are left to the next poll.
    void flush() {
        if (forked() || !lines_.unsent()) return;
        lines_.flush();
        if (lines_.unsent()) (void)gather(8);
    }
    const fabric_lines<Device>& lines() const noexcept { return lines_; }
    fabric_lines<Device>& lines() noexcept { return lines_; }

private:
    struct peer {
        std::uint32_t announced = 0;    // how many long messages were announced to it
        std::uint32_t quiet = 0;        // polls that found nothing since it was suspected
        std::uint64_t suspected_ns = 0; // when it seemed to be gone; frames that it sent before are still read
        errc fault = errc::ok;
        bool left = false, reported = false;
    };
    using transfer = fabric_transfer<typename Device::memory>;

    void end(transfer& t, errc code) {
        if (std::exchange(t.over, true)) return;
        ready_.push_back({.what = event::kind::complete, .code = code, .peer = t.op.peer, .id = t.id});
    }

    // --- Frames ---

    // Hands over one event or handles one frame. False: the frame was not for the caller.
    bool hand_over(event& e) {
        if (next_ready_ != ready_.size()) {
            e = ready_[next_ready_++];
            if (e.what == event::kind::lost) peers_[e.peer].reported = true;
            if (next_ready_ == ready_.size()) ready_.clear(), next_ready_ = 0;
            return true;
        }
        return hear(*lines_.next(), e);
    }
    // Handles a frame. True: it is a message, and `e` tells of it.
    bool hear(fabric_buffer& b, event& e) {
        const fabric_arrival a(b);
        const rank_t from = a.head.from;
        const bool is_short = a.head.kind == fabric_frame::message;
        if (is_short || a.head.kind == fabric_frame::announcement) {
            e = {.what = event::kind::arrived, .peer = from, .id = b.op.index, .bytes = a.bytes};
            e.envelope = a.head.tag;
            if (is_short && a.bytes != 0) e.data = b.memory + sizeof a.head;
            return true;
        }
        fabric_place place;
        if (b.length == sizeof a.head + sizeof place) std::memcpy(&place, b.memory + sizeof a.head, sizeof place);
        lines_.put_back(b);
        if (a.head.kind == fabric_frame::none) return no_payload(from, place.ticket), false;
        if (a.head.kind == fabric_frame::bye) {
            lines_.say(from, fabric_frame::farewell);
            peers_[from].fault = errc::ok; // it left in order, even if the end of its process was seen before
            return lose(from), false;
        }
        if (a.head.kind != fabric_frame::go && a.head.kind != fabric_frame::done) return false;
        transfer* t = pushes_.find([&](const transfer& x) {
            return x.op.peer == from && x.number == place.number && x.stage == transfer::waiting;
        });
        if (t == nullptr) return false;
        if (a.head.kind == fabric_frame::go && !t->over) return begin(*t, place), false;
        if (a.head.kind == fabric_frame::go) lines_.say(from, fabric_frame::none, place);
        end(*t, errc::ok);
        pushes_.remove(*t);
        return false;
    }

    // --- Payloads ---

    void begin(transfer& t, const fabric_place& place) {
        t.place = place;
        t.stage = transfer::ready;
        if (device_->register_memory(t.from, group_.writes ? Device::writes_from : Device::sends, t.memory))
            return push(t);
        lines_.say(t.op.peer, fabric_frame::none, place);
        end(t, errc::no_resources);
        pushes_.remove(t);
    }
    void push(transfer& t) {
        t.piece = std::min<std::uint64_t>(t.from.size() - t.moved, device_->most_bytes());
        const fabric_piece piece{t.from.subspan(t.moved, t.piece), Device::descriptor(t.memory), &t.op};
        fabric_result result = fabric_result::broken;
        if (group_.writes)
            result = device_->write(t.op.peer, piece, t.place.address + t.moved, t.place.key, t.place.ticket);
        else if constexpr (Device::tags)
            result = device_->send_tagged(t.op.peer, piece, t.tag());
        if (result == fabric_result::ok)
            t.stage = transfer::flying;
        else if (result == fabric_result::full)
            stalled_ = true;
        else
            suspect(t.op.peer, errc::peer_dead);
    }
    void push_on() {
        stalled_ = false;
        for (std::size_t i = 0; i != pushes_.size(); ++i)
            if (pushes_[i].stage == transfer::ready && !pushes_[i].over) push(pushes_[i]);
    }
    // Posts a receive for the next piece of a payload that comes as tagged messages.
    bool receive_piece(transfer& t) {
        t.piece = std::min<std::uint64_t>(t.into.size() - t.moved, device_->most_bytes());
        if constexpr (Device::tags)
            return device_->receive_tagged(t.op.peer, t.into.subspan(t.moved, t.piece), Device::descriptor(t.memory),
                                           t.tag(), t.op);
        return false;
    }
    void pushed(transfer& t) {
        t.moved += t.piece;
        t.stage = transfer::ready;
        if (!t.over && t.moved != t.from.size()) return push(t);
        end(t, errc::ok);
        pushes_.remove(t);
    }
    void pulled(transfer& t, std::uint64_t bytes) {
        t.moved += bytes;
        const bool whole = t.moved >= t.into.size();
        if (!whole && group_.writes) return;
        if (!whole && t.stage != transfer::flying && receive_piece(t)) return;
        if (!whole) suspect(t.op.peer, errc::no_resources);
        end(t, whole ? errc::ok : errc::peer_dead);
        pulls_.remove(t);
    }
    // A piece of a payload has been written here.
    void written(const fabric_done& e) {
        if (e.op != nullptr) lines_.unused(e.op->index);
        transfer* t = pulls_.find([&](const transfer& x) { return x.place.ticket == e.ticket; });
        if (t == nullptr) return void(++strangers_);
        pulled(*t, std::min<std::uint64_t>(t->into.size() - t->moved, device_->most_bytes()));
    }
    void no_payload(rank_t from, std::uint32_t ticket) {
        transfer* t = pulls_.find([=](const transfer& x) { return x.place.ticket == ticket && x.op.peer == from; });
        if (t != nullptr) give_up(*t, errc::peer_aborted);
    }
    // The payload of a pull never comes.
    void give_up(transfer& t, errc code) {
        if (!group_.writes && !closed_) { // the device still has its memory, and will say when it has not
            t.stage = transfer::flying;
            t.place.key = static_cast<std::uint64_t>(code);
            if constexpr (Device::tags) device_->cancel(t.op);
            return;
        }
        t.memory.reset(); // from here on nobody can write there
        end(t, code);
        pulls_.remove(t);
    }

    // --- What the device says ---

    // Handles up to `most` operations that the device has ended. False: there was none.
    bool gather(std::size_t most) {
        std::array<fabric_done, 8> entries;
        const std::size_t n = device_->poll(std::span(entries).first(std::min(most, entries.size())));
        for (std::size_t i = 0; i != n; ++i) {
            const fabric_done& e = entries[i];
            if (e.how == fabric_done::way::failed)
                failed(*e.op);
            else if (e.how == fabric_done::way::ok)
                completed(*e.op, e.bytes);
            else
                written(e);
        }
        return n != 0;
    }
    void completed(fabric_op& op, std::size_t length) {
        switch (op.kind) {
        case fabric_op::what::receive: return lines_.received(op.index, length);
        case fabric_op::what::frame: return lines_.sent(op.index);
        case fabric_op::what::push: return pushed(transfer::of(op));
        case fabric_op::what::pull: return pulled(transfer::of(op), length);
        case fabric_op::what::injected: return;
        }
    }
    BOUGH_COLD void failed(fabric_op& op) {
        transfer& t = transfer::of(op);
        switch (op.kind) {
        case fabric_op::what::receive: return lines_.not_received(op.index);
        case fabric_op::what::frame: return lines_.not_sent(op.index);
        case fabric_op::what::injected: return suspect(op.peer, errc::peer_dead);
        case fabric_op::what::push:
            suspect(op.peer, errc::peer_dead);
            end(t, errc::peer_dead);
            return pushes_.remove(t);
        case fabric_op::what::pull:
            if (t.stage != transfer::flying) suspect(op.peer, errc::peer_dead);
            end(t, t.stage == transfer::flying ? static_cast<errc>(t.place.key) : errc::peer_dead);
            return pulls_.remove(t);
        }
    }

    // --- Peers that are gone ---

    BOUGH_COLD void suspect(rank_t r, errc why) {
        peer& p = peers_[r];
        if (p.left || p.suspected_ns != 0) return;
        p.suspected_ns = steady_now_ns();
        p.fault = why;
        ++suspects_;
    }
    // While ranks meet: a rank that is gone before both have said hello (see greetings.hpp).
    rank_t died_early(rank_t late) {
        watch_.look([this](rank_t r) { suspect(r, errc::peer_dead); });
        return first_dead(peers_, [&](rank_t r) { return !lines_.met(r) || late == group_.size; });
    }
    // What is checked after the n-th poll that found nothing.
    void look(std::uint32_t n) {
        for (rank_t r = 0; lines_.next_broken(r);) suspect(r, errc::peer_dead);
        if (suspects_ != 0) judge();
        if (n % 64 == 0) lines_.refill(), bury();
        if (n % 16 != 0 || closed_) return;
        const std::uint64_t now = steady_now_ns();
        const auto is_there = [this](rank_t r) { return r != group_.rank && !peers_[r].left; };
        const auto is_gone = [this](rank_t r) { suspect(r, errc::peer_dead); };
        if (!watch_.look(*device_, options_, group_.size, now, is_there, is_gone)) return;
        const auto too_late = [&](const transfer& t) {
            return t.given_up_ns != 0 && !t.over && now - t.given_up_ns > options_.answer_ns;
        };
        if (resigning_)
            resign(); // a millisecond after `bye` was said
        else if (pushes_.find(too_late) != nullptr || pulls_.find(too_late) != nullptr)
            say_bye(), resigning_ = true;
    }
    BOUGH_COLD void judge() {
        const std::uint64_t now = steady_now_ns();
        for (rank_t r = 0; r != group_.size; ++r) {
            peer& p = peers_[r];
            if (p.suspected_ns != 0 && !p.left && ++p.quiet >= 16 && now - p.suspected_ns >= 2'000'000) lose(r);
        }
    }
    // Nothing more will come from a rank.
    BOUGH_COLD void lose(rank_t r) {
        peer& p = peers_[r];
        if (p.left) return;
        p.left = true;
        lines_.forget(r, p.suspected_ns != 0);
        if (p.suspected_ns != 0) --suspects_, device_->disconnect(r);
        for (std::size_t i = pushes_.size(); i-- != 0;) {
            transfer& t = pushes_[i];
            if (t.op.peer != r) continue;
            if (t.stage == transfer::flying && !closed_) {
                t.given_up_ns = steady_now_ns(); // the provider will soon say that it failed
                continue;
            }
            end(t, errc::peer_dead);
            pushes_.remove(t);
        }
        for (std::size_t i = pulls_.size(); i-- != 0;)
            if (pulls_[i].op.peer == r) give_up(pulls_[i], errc::peer_dead);
        ready_.push_back({.what = event::kind::lost, .code = p.fault, .peer = r});
    }
    // Some providers never report that a write failed because its target is gone. They do not go on
    // writing either, unacknowledged. So its event comes now; the transfer stays with the provider.
    void bury() {
        const auto is_grave = [this](const transfer& t) {
            return t.given_up_ns != 0 && !t.over && peers_[t.op.peer].left;
        };
        for (transfer* t; (t = pushes_.find(is_grave)) != nullptr; end(*t, errc::peer_dead))
            if (steady_now_ns() - t->given_up_ns < 20'000'000) return;
    }
    void say_bye() {
        for (rank_t r = 0; r != group_.size; ++r)
            if (r != group_.rank && !peers_[r].left) lines_.say(r, fabric_frame::bye);
    }
    // Leaves the group: only so does the provider give back the memory that it still holds.
    BOUGH_COLD void resign() {
        lines_.flush();
        device_->close_endpoint();
        lines_.close();
        closed_ = true;
        for (std::size_t i = 0; i != pulls_.size(); ++i)
            if (pulls_[i].given_up_ns != 0) end(pulls_[i], errc::cancelled);
        for (rank_t r = 0; r != group_.size; ++r)
            if (r != group_.rank) lose(r);
    }

    // Lets transfers end that cannot be taken back, then says bye. Takes at most `linger_ns` in
    // all.
    void leave() {
        if (closed_ || !joined_) return;
        const std::uint64_t last = deadline_after(steady_now_ns(), options_.linger_ns);
        for (std::size_t i = 0; i != pushes_.size(); ++i) pushes_[i].over |= pushes_[i].stage == transfer::waiting;
        const auto wait_for = [&](const auto& done) {
            for (std::array<event, 8> events; !done() && !closed_ && steady_now_ns() < last;) {
                const std::size_t found = poll(events);
                for (std::size_t i = 0; i != found; ++i)
                    if (events[i].what == event::kind::arrived) release(events[i].id);
                if (found == 0) std::this_thread::yield();
            }
        };
        wait_for(
            [this] { return pulls_.empty() && pushes_.find([](const transfer& t) { return !t.over; }) == nullptr; });
        if (closed_) return;
        say_bye();
        wait_for([this] { return lines_.all_sent() && lines_.all_waved(); });
    }

    options_type options_;
    fabric_group group_;
    std::uint32_t forks_ = forks();
    std::unique_ptr<Device> device_;
    fabric_lines<Device> lines_;
    std::vector<peer> peers_;
    fabric_transfers<typename Device::memory> pushes_, pulls_;
    std::vector<event> ready_; // those from next_ready_ on are not handed over yet
    std::size_t next_ready_ = 0;
    fabric_watch watch_;
    std::uint32_t tickets_ = 0, idle_ = 0, suspects_ = 0;
    std::uint64_t strangers_ = 0;
    bool meeting_ = false, joined_ = false; // it greets the others; all have met
    // A push waits for the device; bye has been said and the device will be closed; it is closed.
    bool stalled_ = false, resigning_ = false, closed_ = false;
};

} // namespace bough::detail

#endif
