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
// *Errors* are of one program, for good, and are told to all its ranks: deadline; peer_dead, where an instance needs a
//   rank that is gone; peer_aborted, with the cause; protocol_error, where a frame comes that no program of this set sends;
//   op_threw; group_poisoned. start() says would_block while all banks are in use: that is none.
// *Time* what the machine takes, and a copy per message. *Determinism* as the program: any timing gives the same bits.
#ifndef BOUGH_NIC_RUN_HOST_HPP
#define BOUGH_NIC_RUN_HOST_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/execute/session.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/machine.hpp>
#include <bough/nic/program.hpp>

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

namespace bough::nic {

template <Transport X>
class host_nic;
template <class T, class O, Transport X>
class host_program;

namespace detail {

// A frame is a message and the bytes of its elements. This inlet is no program's: the sender gives up, `count` says why.
inline constexpr u16 abort_inlet = 0xffff;

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
        : session_(comm.shared_session()), rank_(comm.rank()), timeout_ns_(comm.options().timeout_ns) {
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

    // Takes out of the session's inbox what is for programs that are loaded.
    bool run_arrived() {
        bool any = false;
        control_message taken;
        message m;
        detail::loaded* to = nullptr;
        for (; session_->with_lock([&] { return take_arrived(taken, m, to); }); any = true)
            if (to != nullptr) to->take(m, std::span(taken.bytes).subspan(sizeof m));
        return any;
    }
    // The first of them. `to`: whose it is; null: nobody's any more.
    bool take_arrived(control_message& taken, message& m, detail::loaded*& to) {
        std::vector<control_message>& inbox = session_->inbox();
        for (std::size_t i = 0; i != inbox.size(); ++i) {
            control_message& there = inbox[i];
            if (there.tag.context != tag_.context || there.tag.operation != tag_.operation) continue;
            to = nullptr;
            bool drop = there.bytes.size() < sizeof m;
            if (!drop) {
                std::memcpy(&m, there.bytes.data(), sizeof m);
                for (detail::loaded* one : programs_)
                    if (one->stream() == m.stream) to = one;
                drop = std::find(unloaded_.begin(), unloaded_.end(), m.stream) != unloaded_.end() ||
                       m.from >= ranks_.size() || ranks_[m.from] != there.peer;
            }
            if (!drop && to == nullptr) continue;
            if (drop) to = nullptr;
            taken = std::move(there);
            inbox.erase(inbox.begin() + static_cast<std::ptrdiff_t>(i));
            return true;
        }
        return false;
    }

    std::shared_ptr<session<X>> session_;
    rank_t rank_;
    std::uint64_t timeout_ns_;
    envelope tag_{};
    std::vector<rank_t> ranks_{}; // of the transport
    std::vector<detail::loaded*> programs_{};
    std::function<void(const message&, std::span<const std::byte>)> sees_{};
    std::vector<std::uint32_t> unloaded_{}; // their credits may be late
};
template <class Communicator>
host_nic(Communicator&) -> host_nic<std::remove_cvref_t<decltype(std::declval<Communicator&>().transport())>>;

// A program of this rank, loaded. Made by nic::load. What is under way when it ends is given up, and the others are told.
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
        BOUGH_EXPECTS(std::find(device.unloaded_.begin(), device.unloaded_.end(), p.head.stream) ==
                          device.unloaded_.end(),
                      "program: its stream was taken on this device before");
        places_.resize(banks());
        device.programs_.push_back(this);
    }
    host_program(const host_program&) = delete;
    host_program& operator=(const host_program&) = delete;
    ~host_program() {
        if (told_ != rung_) fail({.code = errc::cancelled});
        std::erase(device_.programs_, static_cast<detail::loaded*>(this));
        device_.unloaded_.push_back(program_.head.stream);
    }

    std::uint32_t banks() const noexcept { return std::uint32_t{1} << program_.head.bank_bits; }
    std::uint32_t started() const noexcept { return rung_; } // instances; the next is of this number
    std::uint32_t ended() const noexcept { return told_; }
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

    // Polls once; true if every instance that was started has ended, or the program has failed.
    bool poll() {
        if (!device_.progress() && (++idle_ & 63u) == 0) look_around();
        return error_ || told_ == rung_;
    }
    // Until the instance has ended; no longer than the communicator's timeout.
    const status& wait(std::uint32_t instance) {
        BOUGH_EXPECTS(is_before(instance, rung_), "wait: this instance was not started");
        wait_until([&] { return done(instance); }, places_[instance & (banks() - 1)].deadline_ns);
        return error_;
    }
    // Enters an instance, as soon as there is a bank, and waits for its end. Pre: as start, and
    // result.size() == result_count().
    status run(std::span<const T> input, std::span<T> result) {
        BOUGH_EXPECTS(result.size() == result_count(), "result: not as long as the program gives");
        const std::uint32_t instance = rung_;
        status entered = start(input);
        if (entered.code == errc::would_block) {
            const std::uint64_t last = deadline_after(device_.session_->now_ns(), device_.timeout_ns_);
            wait_until([&] { return (entered = start(input)).code != errc::would_block; }, last);
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
    struct port {
        host_program& self;
        void send(const message& m, const T* payload) {
            std::vector<std::byte>& frame = self.frame_;
            frame.resize(sizeof m + std::size_t{m.count} * sizeof(T));
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
    static bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
    std::uint32_t count_of(u16 slot) const noexcept { return slot == no_index ? 0 : program_.slots[slot].count; }

    std::uint32_t stream() const noexcept override { return program_.head.stream; }
    void take(const message& m, std::span<const std::byte> payload) override {
        if (error_) return;
        if (m.inlet == detail::abort_inlet)
            return end({.code = errc::peer_aborted, .cause = static_cast<errc>(m.count), .peer = m.from});
        if (payload.size() != std::size_t{m.count} * sizeof(T) || m.inlet == bell_inlet)
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
        device_.session_->wait_until(
            [&] {
                device_.run_arrived();
                if ((++turn & 15u) == 0) look_around();
                return error_ || ready();
            },
            deadline_ns);
    }
    // Is there a reason to give up?
    void look_around() {
        if (error_ || told_ == rung_) return;
        if (const status poison = device_.session_->poison())
            return end({.code = errc::group_poisoned,
                        .cause = poison.cause != errc::ok ? poison.cause : poison.code,
                        .peer = poison.peer});
        const std::uint64_t now = device_.session_->transport().now_ns();
        for (std::uint32_t k = 0; k != banks(); ++k) {
            const bank<T>& b = state_.banks[k];
            const std::uint32_t e = places_[k].instance;
            if (places_[k].ended || places_[k].deadline_ns == 0) continue;
            for (std::size_t i = 0; i != program_.inlets.size(); ++i) {
                const inlet& in = program_.inlets[i];
                if (in.from != no_index && i != bell_inlet && !is_before(e, b.expected[i]) && device_.is_lost(in.from))
                    return fail({.code = errc::peer_dead, .peer = in.from});
            }
            if (now >= places_[k].deadline_ns) return fail({.code = errc::deadline});
        }
    }
    // Ends the program, and tells the others.
    void fail(const status& why) {
        if (error_) return;
        end(why);
        const message m{program_.head.stream,      told_, program_.head.rank, everyone, detail::abort_inlet,
                        static_cast<u16>(why.code)};
        for (rank_t r = 0; r != device_.size(); ++r)
            if (r != device_.rank() && !device_.is_lost(r)) device_.send(r, std::as_bytes(std::span(&m, 1)));
    }
    void end(const status& why) noexcept {
        if (!error_) error_ = why;
    }

    host_nic<X>& device_;
    nic::program program_;
    O op_;
    nic::state<T> state_;
    std::vector<place> places_{}; // by bank
    std::vector<T> payload_{};
    std::vector<std::byte> frame_{};
    std::uint32_t rung_ = 0, told_ = 0; // instances
    std::uint32_t idle_ = 0;
    status error_{};
};

// Loads a program on a device. What it gives does not move, and must not outlive the device.
template <class T, class O, Transport X>
host_program<T, O, X> load(host_nic<X>& device, const program& p, const O& op) {
    return {device, p, op};
}

} // namespace bough::nic

#endif
