// SPDX-License-Identifier: BSL-1.0
// run_host: the host as the NIC. Programs from nic::assemble run in this process, over the links of a communicator.
//
//   nic::host_nic device{comm};                                      collective; comm is a bough::communicator
//   auto sum = nic::load<double>(device, programs[comm.rank()], bough::plus{});
//   double mine = 1, all = 0;
//   sum.run(std::span(&mine, 1), std::span(&all, 1));                 blocking
//
//   sum.start(std::span(&mine, 1));                                   or in split phase: rings the bell, returns at once
//   while (!sum.poll()) work_a_little();
//   use(sum.result(0));                                               of instance 0, where it lies in the bank
//
// A device is to a communicator what a NIC is to a host: several programs at once (their streams tell them apart), several
// instances of each, as many as it has banks, without a barrier between them. A message that comes before its program is
// loaded waits. Values and messages are those of every other target: the tables are the same, and so is the machine.
//
// Programs run in calls of poll, wait and progress of any program of the device; the transport is polled by whatever else
// uses the communicator, too, and what comes meanwhile is kept. One thread at a time.
//
// An instance ends *for this host* when it is told: then done() is true, and wait and run return. The rank may still owe others
// a message, as one in the middle of a chain does, whose child has not made room: poll() is true when nothing is owed either.
// Who goes on to wait for anything but programs of this device polls until then: others starve else. The end of a program
// does so, too. What is owed is under the instance's deadline.
//
// *Errors* are for good, and poison the group as those of operations do, so that every rank's programs and operations end with
//   the first cause: deadline; peer_dead, where an instance needs a rank that is gone; peer_aborted, with the cause;
//   protocol_error, where a frame comes that no program of this set sends; op_threw; cancelled, where a program is unloaded
//   with instances that this host was not told of; no_resources, also where more comes for programs that are not loaded than
//   communicator_options::early.bytes; group_poisoned. start() says would_block while all banks are in use: that is none.
// *Time* what the machine takes, and a copy per message. *Memory* is taken by load: for every message that may be under way;
// and is let go when the program ends.
// *Determinism* as the program: any timing gives the same bits.
#ifndef BOUGH_NIC_RUN_HOST_HPP
#define BOUGH_NIC_RUN_HOST_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/machine.hpp>
#include <bough/nic/program.hpp>
#include <bough/session/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

template <Transport X>
class host_nic;
template <class T, class O, Transport X>
class host_program;

namespace detail {

// What a device knows of a program.
class loaded {
public:
    virtual void take(const message& m, std::span<const std::byte> payload) = 0;
    virtual std::uint32_t stream() const noexcept = 0;

protected:
    ~loaded() = default;
};

} // namespace detail

// Collective: every rank of the communicator makes its devices in the same order. Programs refer to it: it does not move,
// and lives longer than they.
template <Transport X>
class host_nic {
public:
    template <class Communicator>
    explicit host_nic(Communicator& comm)
        : session_(comm.shared_session()), rank_(comm.rank()), timeout_ns_(comm.options().timeout_ns),
          most_waiting_(comm.options().early.bytes) {
        for (rank_t r = 0; r != comm.size(); ++r) ranks_.push_back(comm.world_rank(r));
        tag_.context = comm.context();
        // Of the agreements of a communicator, which take small numbers, none is ever of this half.
        tag_.operation = 0x8000'0000u | session_->next_agreement(tag_.context);
    }
    host_nic(const host_nic&) = delete;
    host_nic& operator=(const host_nic&) = delete;

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(ranks_.size()); }
    std::uint64_t timeout_ns() const noexcept { return timeout_ns_; }

    // Polls the transport once, and runs what has come. True if something had.
    bool progress() {
        const bool moved = session_->progress();
        return run_arrived() || moved;
    }

    // Calls f for each message that a program of this rank sends, once for a multicast.
    void on_send(std::function<void(const message&, std::span<const std::byte> payload)> f) { sees_ = std::move(f); }

private:
    template <class T, class O, Transport Y>
    friend class host_program;

    void send(rank_t to, std::span<const std::byte> frame) { session_->send_control(ranks_[to], tag_, frame); }
    bool is_lost(rank_t r) const noexcept { return session_->is_lost(ranks_[r]); }

    // Gives programs what has come for them.
    bool run_arrived() {
        bool any = false;
        if (std::exchange(has_new_, false)) {
            waiting_bytes_ = 0;
            for (control_message& one : std::exchange(waiting_, {})) use(std::move(one));
        }
        for (control_message one; session_->with_lock([&] { return take_arrived(one); }); any = true)
            use(std::move(one));
        return any;
    }
    bool take_arrived(control_message& taken) {
        std::vector<control_message>& inbox = session_->inbox();
        const auto mine = std::ranges::find_if(inbox, [this](const control_message& there) {
            return there.tag.context == tag_.context && there.tag.operation == tag_.operation;
        });
        if (mine == inbox.end()) return false;
        taken = std::move(*mine);
        inbox.erase(mine);
        return true;
    }
    void use(control_message&& one) {
        message m;
        const bool whole = one.bytes.size() >= sizeof m;
        if (whole) std::memcpy(&m, one.bytes.data(), sizeof m);
        if (whole && m.from < ranks_.size() && ranks_[m.from] == one.peer) {
            const auto to = std::ranges::find(programs_, m.stream, &detail::loaded::stream);
            if (to != programs_.end())
                (*to)->take(m, std::span(one.bytes).subspan(sizeof m));
            else if (m.count != 0 || !was_owed(m.stream))
                return keep(std::move(one));
        }
        session_->with_lock([&] { session_->recycle(std::move(one.bytes)); });
    }
    // Is it a credit for a program that has ended here?
    bool was_owed(std::uint32_t stream) {
        const auto at = std::ranges::find(owed_, stream, &owed::stream);
        if (at == owed_.end()) return false;
        if (--at->credits == 0) owed_.erase(at);
        return true;
    }
    // Until its program is loaded.
    void keep(control_message&& one) {
        const std::uint64_t bytes = sizeof one + one.bytes.size();
        bool kept = waiting_bytes_ + bytes <= most_waiting_;
        const rank_t from = one.peer;
#if BOUGH_HAS_EXCEPTIONS
        try {
            if (kept) waiting_.push_back(std::move(one));
        } catch (...) {
            kept = false;
        }
#else
        if (kept) waiting_.push_back(std::move(one));
#endif
        if (!kept) return session_->give_up({.code = errc::no_resources, .peer = from});
        waiting_bytes_ += bytes;
    }

    struct owed {
        std::uint32_t stream;
        std::uint64_t credits; // that are still to come
    };

    std::shared_ptr<session<X>> session_;
    rank_t rank_;
    std::uint64_t timeout_ns_;
    envelope tag_{};
    std::vector<rank_t> ranks_{}; // of the transport
    std::vector<detail::loaded*> programs_{};
    std::function<void(const message&, std::span<const std::byte>)> sees_{};
    std::vector<owed> owed_{};               // to programs that have ended
    std::vector<control_message> waiting_{}; // for programs that are not loaded
    std::uint64_t waiting_bytes_ = 0, most_waiting_;
    bool has_new_ = false; // a program was loaded
};
template <class Communicator>
host_nic(Communicator&) -> host_nic<std::remove_cvref_t<decltype(std::declval<Communicator&>().transport())>>;

// A program of this rank, loaded. Made by nic::load. When it ends, what its host was not told of is given up, and the others are
// told; what it owes them is sent first, if there is room for it before the deadline; else the group fails with `deadline`.
template <class T, class O, Transport X>
class host_program final : detail::loaded {
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                  "bough: elements of a NIC program travel as their bytes: give a trivially copyable type");

public:
    // Pre: the program is sound, of this rank of the device's communicator; no other on the device has or had its stream.
    host_program(host_nic<X>& device, const nic::program& p, const O& with)
        : device_(device), program_(p), op_(with), state_(make_state<T>(p)) {
        BOUGH_EXPECTS(sound(p) == table_fault::none, "program: broken");
        BOUGH_EXPECTS(p.head.rank == device.rank() && p.head.ranks == device.size(),
                      "program: of another rank, or for another number of ranks");
        for (const detail::loaded* other : device.programs_)
            BOUGH_EXPECTS(other->stream() != p.head.stream, "program: its stream is taken on this device");
        for (const auto& past : device.owed_)
            BOUGH_EXPECTS(past.stream != p.head.stream, "program: its stream was taken on this device before");
        places_.resize(banks());
        std::size_t longest = 0;
        for (const slot& x : p.slots) longest = std::max<std::size_t>(longest, x.count);
        payload_.reserve(longest);
        frame_.reserve(frame_bytes(longest));
        // What may be under way: to every inlet, and from every send, a message for each bank.
        std::vector<std::size_t> sizes; // of one bank's
        for (const inlet& x : p.inlets) sizes.push_back(frame_bytes(count_of(x.slot)));
        for (const step& x : p.steps)
            if (x.what == kind::send)
                sizes.insert(sizes.end(), x.peer == everyone ? p.head.ranks : 1u, frame_bytes(count_of(x.a)));
        room_.take(*device.session_, std::move(sizes), banks());
        device.owed_.reserve(device.owed_.size() + device.programs_.size() + 1);
        device.programs_.push_back(this);
        device.has_new_ = true;
    }
    host_program(const host_program&) = delete;
    host_program& operator=(const host_program&) = delete;
    ~host_program() {
        if (told_ != rung_) fail({.code = errc::cancelled});
        guarded([&] { drain(); });
        std::erase(device_.programs_, static_cast<detail::loaded*>(this));
        if (const std::uint64_t credits = error_ ? 0 : credits_to_come(); credits != 0)
            device_.owed_.push_back({program_.head.stream, credits});
    }

    std::uint32_t banks() const noexcept { return std::uint32_t{1} << program_.head.bank_bits; }
    std::uint32_t started() const noexcept { return rung_; } // instances; the next is of this number
    std::uint32_t ended() const noexcept { return told_; }   // of these, that the host was told of
    // Does this rank still wait for, or owe others, anything of what was started?
    bool unfinished() const noexcept {
        for (std::uint32_t k = 0; k != banks(); ++k)
            if (unfinished(k)) return true;
        return false;
    }
    const status& error() const noexcept { return error_; }
    // Elements that the host brings, and that it is given.
    std::uint32_t input_count() const noexcept { return count_of(program_.inlets[bell_inlet].slot); }
    std::uint32_t result_count() const noexcept {
        for (const step& s : program_.steps)
            if (s.what == kind::notify) return count_of(s.a);
        return 0;
    }

    // The host enters the next instance. would_block: its bank has not ended the last; poll, and try again.
    // Pre: input.size() == input_count(). The input is copied.
    status start(std::span<const T> input) {
        BOUGH_EXPECTS(input.size() == input_count(), "input: not as long as the program takes");
        if (!error_) hear_poison(errc::group_poisoned);
        if (error_) return error_;
        place& at = places_[rung_ & (banks() - 1)];
        if (state_.banks[rung_ & (banks() - 1)].epoch != rung_) return {.code = errc::would_block};
        at = {rung_, deadline_after(device_.session_->now_ns(), device_.timeout_ns_), nullptr, false};
        port out{*this};
        const u32 epoch = rung_++;
        guarded([&] { ring(program_, state_, epoch, input.data(), op_, out); });
        return error_;
    }
    // Has this host been told of the instance, or has the program failed?
    bool done(std::uint32_t instance) const noexcept {
        const place& at = places_[instance & (banks() - 1)];
        return error_ || (is_before(instance, rung_) && (at.instance != instance || at.ended));
    }
    // Of an instance that ended, until the host enters the one that takes its bank: started() - banks() <= instance.
    std::span<const T> result(std::uint32_t instance) const {
        const place& at = places_[instance & (banks() - 1)];
        BOUGH_EXPECTS(at.instance == instance && at.ended,
                      "result: this instance has not ended, or its bank has another");
        return {at.result, result_count()};
    }

    // Ends the program, and the group, with a reason that is the caller's. After a failure: nothing.
    void abort(const status& why) { fail(why); }

    // Polls once; true if every instance that was started has ended and nothing is owed, or the program has failed.
    bool poll() {
        const bool idle = !device_.progress();
        if ((++turns_ & (idle ? 63u : 1023u)) == 0 || (idle && device_.session_->forked()))
            look_around(); // however busy others keep this rank
        return error_ || !unfinished();
    }
    // Until the instance has ended for this host; no longer than the communicator's timeout.
    const status& wait(std::uint32_t instance) {
        BOUGH_EXPECTS(is_before(instance, rung_), "wait: this instance was not started");
        wait_until([&] { return done(instance); }, places_[instance & (banks() - 1)].deadline_ns);
        return error_;
    }
    // Enters an instance, as soon as there is a bank, and waits for its end for this host. Never would_block. Pre: as start,
    // and result.size() == result_count().
    status run(std::span<const T> input, std::span<T> result) {
        BOUGH_EXPECTS(result.size() == result_count(), "result: not as long as the program gives");
        const std::uint32_t instance = rung_;
        status entered = start(input);
        if (entered.code == errc::would_block) {
            wait_until([&] { return (entered = start(input)).code != errc::would_block; },
                       places_[instance & (banks() - 1)].deadline_ns); // of who has the bank
            if (error_) return error_;
        }
        if (entered) return entered;
        if (wait(instance)) return error_;
        std::ranges::copy(this->result(instance), result.begin());
        return {};
    }

private:
    struct place {
        std::uint32_t instance = 0;
        std::uint64_t deadline_ns = 0;
        const T* result = nullptr;
        bool ended = false;
    };
    // Memory of the session for what may be under way: for so many messages of each size.
    struct message_room {
        message_room() = default;
        message_room(const message_room&) = delete;
        message_room& operator=(const message_room&) = delete;
        ~message_room() {
            for (const auto& [bytes, messages] : taken) of->unreserve_control(messages, bytes);
        }
        void take(session<X>& s, std::vector<std::size_t> sizes, std::size_t times) {
            of = &s;
            std::ranges::sort(sizes);
            taken.reserve(sizes.size());
            for (auto at = sizes.begin(); at != sizes.end();) {
                const auto next = std::upper_bound(at, sizes.end(), *at);
                const std::size_t messages = static_cast<std::size_t>(next - at) * times;
                s.reserve_control(messages, *at);
                taken.emplace_back(*at, messages);
                at = next;
            }
        }
        session<X>* of = nullptr;
        std::vector<std::pair<std::size_t, std::size_t>> taken{}; // bytes, messages
    };
    struct port {
        host_program& self;
        void send(const message& m, const T* payload) {
            std::vector<std::byte>& frame = self.frame_;
            frame.resize(frame_bytes(m.count));
            std::memcpy(frame.data(), &m, sizeof m);
            if (m.count != 0) std::memcpy(frame.data() + sizeof m, payload, std::size_t{m.count} * sizeof(T));
            if (self.device_.sees_) self.device_.sees_(m, std::span(frame).subspan(sizeof m));
            if (m.to != everyone) return self.device_.send(m.to, frame);
            for (rank_t r = 0; r != self.device_.size(); ++r)
                if (r != self.device_.rank()) self.device_.send(r, frame);
        }
        void notify(u32 epoch, const T* result, u32) {
            place& at = self.places_[epoch & (self.banks() - 1)];
            at.result = result;
            at.ended = true;
            ++self.told_;
        }
    };
    static constexpr std::size_t frame_bytes(std::size_t count) noexcept { return sizeof(message) + count * sizeof(T); }
    static bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
    // Is a bank's instance, which was started, still at work? Then places_[k] is its place.
    bool unfinished(std::uint32_t k) const noexcept { return is_before(state_.banks[k].epoch, rung_); }
    // Until nothing is owed, or it is too late.
    void drain() {
        std::uint64_t last = ~std::uint64_t{0};
        for (std::uint32_t k = 0; k != banks(); ++k)
            if (unfinished(k)) last = std::min(last, places_[k].deadline_ns);
        wait_until([&] { return !unfinished(); }, last);
    }
    // Pre: nothing is unfinished. For the next instance of every bank, from each who has not sent it.
    std::uint64_t credits_to_come() const noexcept {
        std::uint64_t n = 0;
        for (std::uint32_t k = 0; k != banks(); ++k)
            for (std::size_t i = 0; i != program_.inlets.size(); ++i)
                if ((program_.inlets[i].flags & inlet_credit) != 0 &&
                    state_.banks[k].expected[i] == state_.banks[k].epoch)
                    ++n;
        return n;
    }
    std::uint32_t count_of(u16 slot) const noexcept { return slot == no_index ? 0 : program_.slots[slot].count; }

    std::uint32_t stream() const noexcept override { return program_.head.stream; }
    void take(const message& m, std::span<const std::byte> payload) override {
        if (error_) return;
        if (payload.size() != std::size_t{m.count} * sizeof(T) || m.count > payload_.capacity() ||
            m.inlet == bell_inlet)
            return fail({.code = errc::protocol_error, .peer = m.from});
        payload_.resize(m.count);
        if (!payload.empty()) std::memcpy(payload_.data(), payload.data(), payload.size());
        port out{*this};
        answer what = answer::taken;
        guarded([&] { what = deliver(program_, state_, m, payload_.data(), op_, out); });
        if (what != answer::taken && what != answer::duplicate) fail({.code = errc::protocol_error, .peer = m.from});
    }

    template <class F>
    void guarded(F&& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (const std::bad_alloc&) {
            fail({.code = errc::no_resources});
        } catch (...) {
            fail({.code = errc::op_threw});
        }
#else
        f();
#endif
    }

    template <class F>
    void wait_until(F&& ready, std::uint64_t deadline_ns) {
        std::uint32_t turn = 0;
        const bool over = device_.session_->wait_until(
            [&] {
                device_.run_arrived();
                if ((++turn & 15u) == 0) look_around();
                return error_ || ready();
            },
            deadline_ns);
        if (!over) look_around();
    }
    // Is there a reason to give up?
    void look_around() {
        if (error_) return;
        if (hear_poison(errc::ok) || !unfinished()) return;
        const std::uint64_t now = device_.session_->transport().now_ns();
        for (std::uint32_t k = 0; k != banks(); ++k) {
            const bank<T>& b = state_.banks[k];
            const std::uint32_t e = places_[k].instance;
            if (!unfinished(k)) continue;
            for (std::size_t i = 0; i != program_.inlets.size(); ++i) {
                const inlet& in = program_.inlets[i];
                if (in.from != no_index && i != bell_inlet && !is_before(e, b.expected[i]) && device_.is_lost(in.from))
                    return fail({.code = errc::peer_dead, .peer = in.from});
            }
            if (now >= places_[k].deadline_ns) return fail({.code = errc::deadline});
        }
    }
    // Has the group failed? Then so has this program: with the same, or as `code`, for what begins later.
    bool hear_poison(errc code) {
        status poison = device_.session_->poison();
        if (!poison) return false;
        if (code != errc::ok && poison.code != errc::forked_child)
            poison = {
                .code = code, .cause = poison.cause != errc::ok ? poison.cause : poison.code, .peer = poison.peer};
        error_ = poison;
        return true;
    }
    // Ends the program, and the group with it.
    void fail(const status& why) {
        if (error_) return;
        error_ = why;
        device_.session_->give_up(why);
    }

    host_nic<X>& device_;
    nic::program program_;
    O op_;
    nic::state<T> state_;
    std::vector<place> places_{}; // by bank
    std::vector<T> payload_{};
    std::vector<std::byte> frame_{};
    std::uint32_t rung_ = 0, told_ = 0; // instances
    std::uint32_t turns_ = 0;
    status error_{};
    message_room room_{};
};

// Loads a program on a device. What it gives does not move, and must not outlive the device.
template <class T, class O, Transport X>
host_program<T, O, X> load(host_nic<X>& device, const program& p, const O& op) {
    return {device, p, op};
}

} // namespace bough::nic

#endif
