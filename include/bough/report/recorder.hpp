// SPDX-License-Identifier: BSL-1.0
// Recorder: writes down the latest calls of one communicator, in a ring that is allocated once.
//
// A record of 64 bytes is written when a call starts. One word of it is written when the call ends,
// and the time if the call had to wait. No lock is taken and nothing is allocated. A reader of the
// same memory (a recording file) may see a record that is half written.
#ifndef BOUGH_REPORT_RECORDER_HPP
#define BOUGH_REPORT_RECORDER_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/options.hpp>
#include <bough/report/trace.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_recorder {
public:
    basic_recorder(const recorded_communicator& of, const report_options& options)
        : file_(options.file), hook_(options.hook), trace_(tracer::make(of, options)) {
        if (trace_) hook_ = {&tracer::see, trace_.get()};
        recording_header head;
        head.header_bytes = sizeof head;
        head.of.job = options.job;
        head.of.rank = of.rank;
        head.of.size = of.size;
        head.of.epoch = of.epoch;
        head.of.context = of.context;
        head.of.members = static_cast<std::uint32_t>(of.members.size());
        head.of.calls = std::bit_ceil(std::clamp(options.calls, least_calls, most_calls));
        head.first = head.latest = clock_mark::now();
        head.bytes = bytes_ = head.end();
        mask_ = head.of.calls - 1;
        if (file_) memory_ = file_->take(bytes_);
        if (memory_ == nullptr) {
            file_.reset();
            memory_ = static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{64}));
        }
        std::memset(memory_ + sizeof head, 0, bytes_ - sizeof head);
        if (!of.members.empty()) std::memcpy(memory_ + head.members_at(), of.members.data(), of.members.size() * 4);
        ring_ = reinterpret_cast<call_record*>(memory_ + head.calls_at());
        head_ = ::new (memory_) recording_header(head);
    }
    basic_recorder(const basic_recorder&) = delete;
    basic_recorder& operator=(const basic_recorder&) = delete;
    // This process is the child of a fork: what a file has is its parent's.
    void disown() noexcept { is_parents_ = true; }
    ~basic_recorder() {
        if (is_parents_ && file_) return;
        head_->of.is_closed = 1;
        head_->latest = clock_mark::now();
        if (file_)
            file_->give_back(memory_, bytes_);
        else
            ::operator delete (memory_, std::align_val_t{64});
    }

    // The session, too, compares calls with those that are recorded (bough/session/disputes.hpp).
    static constexpr std::uint32_t least_calls = 16, most_calls = 1u << 20;

    // --- for each call ---

    // Pre: how.state is in_flight.
    BOUGH_ALWAYS_INLINE void begins(std::uint32_t number, const call_signature& s, call_record::how how) noexcept {
        call_record& r = ring_[number & mask_];
        r.signature = s;
        r.begin = ticks();
        r.number = number;
        r.its = how;
    }
    // Pre: no other call of this communicator is in flight.
    BOUGH_ALWAYS_INLINE void ends_alone(std::uint32_t number) noexcept { head_->of.ended_at_once = number; }
    void ends_at_once(std::uint32_t number) noexcept {
        call_record& r = ring_[number & mask_];
        if (r.number == number) r.its.state = call_state::ended_at_once;
    }
    // It had to wait.
    void ends(std::uint32_t number) noexcept {
        call_record& r = ring_[number & mask_];
        ++head_->counts.waits;
        if (r.number != number) return;
        r.end = ticks();
        r.its.state = call_state::ended;
    }
    BOUGH_COLD void fails(std::uint32_t number, errc code) noexcept {
        call_record& r = ring_[number & mask_];
        if (r.number != number) return;
        r.end = ticks();
        r.its.code = code;
        r.its.state = call_state::failed;
    }
    BOUGH_ALWAYS_INLINE void sent(std::uint64_t bytes) noexcept {
        ++head_->counts.messages;
        head_->counts.bytes += bytes;
    }
    void refused() noexcept { ++head_->counts.retries; }
    void was_early(std::uint64_t bytes) noexcept {
        ++head_->counts.early_messages;
        head_->counts.early_bytes += bytes;
    }

    bool has_hook() const noexcept { return hook_.function != nullptr; }
    BOUGH_COLD void tell(operation_event e) const {
        e.context = head_->of.context;
        hook_.function(hook_.context, e);
    }

    // The trace of its communicator; null: there is none.
    communicator_trace* trace() const noexcept { return trace_ ? trace_->its.get() : nullptr; }

    // --- now and then ---

    recording_header& head() noexcept { return *head_; }
    const recording_header& head() const noexcept { return *head_; }
    std::span<const std::byte> bytes() const noexcept { return {memory_, bytes_}; }
    // Null: the call is not recorded any more.
    const call_record* find(std::uint32_t number) const noexcept {
        const call_record& r = ring_[number & mask_];
        return r.number == number && r.its.state != call_state::none ? &r : nullptr;
    }
    // The call that began last; null: there is none.
    const call_record* latest() const noexcept {
        const call_record* last = nullptr;
        for (std::uint32_t i = 0; i <= mask_; ++i)
            if (ring_[i].its.state != call_state::none && (last == nullptr || last->begin < ring_[i].begin))
                last = &ring_[i];
        return last;
    }
    // Remembers what a plan is called, so that a report can name it.
    void name_plan(std::uint64_t plan, const char* text) noexcept {
        for (const plan_name& known : head_->plans)
            if (known.plan == plan) return;
        plan_name& made = head_->plans[next_name_++ % head_->plans.size()];
        made = {.plan = plan};
        std::memcpy(made.text.data(), text, std::min(std::strlen(text), made.text.size() - 1));
    }

private:
    recording_header* head_ = nullptr;
    call_record* ring_ = nullptr;
    std::uint32_t mask_ = 0, next_name_ = 0;
    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::shared_ptr<recording_place> file_;
    operation_hook hook_; // a trace hears it first
    std::unique_ptr<tracer> trace_;
    bool is_parents_ = false;
};
using recorder = basic_recorder<0>;
BOUGH_COMPILED_COMMON(class basic_recorder<0>)

} // namespace bough::detail

#endif
