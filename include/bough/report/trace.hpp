// SPDX-License-Identifier: BSL-1.0
// Trace: where every call of a program, with each of its messages, is written, so that it can be drawn.
//
//   $ bough launch -n 4 --trace run.json ./program     # or BOUGH_TRACE=DIR ./program, under any launcher
//   communicator comm{link, {.report = {.trace = bough::trace_file("3.trace")}}};
// trace_file() (bough/report/trace_file.hpp) makes one. merged_traces (bough/interchange/run_trace.hpp)
// and `bough trace` draw the traces of all ranks, beside what their plans should have taken.
#ifndef BOUGH_REPORT_TRACE_HPP
#define BOUGH_REPORT_TRACE_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/report/options.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {
// Whose calls are recorded.
struct recorded_communicator {
    rank_t rank = 0, size = 0; // of the transport
    std::uint32_t epoch = 0;
    std::uint16_t context = 0;
    std::span<const rank_t> members{}; // empty: all
};
} // namespace detail

// What the communicator expects a message of this rank to cost, or a combine or a copy of so many
// bytes, in nanoseconds.
struct traced_cost {
    rank_t peer = 0; // of the communicator
    float send = 0, latency = 0, port = 0, duplex_port = 0;
    float receive = 0; // a message from the peer
    float combine = 0, copy = 0;
    std::uint64_t bytes = 0;
};

// A plan that a call is about to follow. Its ranks are those of the communicator.
struct traced_plan {
    std::uint64_t id = 0; // call_signature::plan
    const char* name = "";
    block_t blocks = 1;
    bool has_ports = false, lands_early = false; // of the costs
    double start_ns = 0;
    std::span<const step> steps{}; // of this rank
    std::span<const traced_cost> costs{};
};

// Takes what happens in one communicator, one thread at a time.
class communicator_trace {
public:
    virtual ~communicator_trace() = default;
    virtual void note(const operation_event& e) noexcept = 0;
    // Has it no use for another look at this plan?
    virtual bool knows(std::uint64_t plan) const noexcept = 0;
    virtual void add(const traced_plan& made) noexcept = 0;
};

// Of one process.
class trace_place {
public:
    virtual ~trace_place() = default;
    // A trace for one communicator. Null: nothing is traced.
    virtual std::unique_ptr<communicator_trace> open(const detail::recorded_communicator& of, std::uint64_t job) = 0;

    // Calls that start between pause() and resume() are not traced. Any thread may call these.
    void pause() noexcept { is_paused_.store(true, std::memory_order_relaxed); }
    void resume() noexcept { is_paused_.store(false, std::memory_order_relaxed); }
    bool is_paused() const noexcept { return is_paused_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> is_paused_{false};
};

namespace detail {

// Makes the trace that the environment asks for. It is set by bough/report/trace_file.hpp, which every
// transport of bough includes; null, or its result is null: none is asked for.
using find_trace = std::shared_ptr<trace_place> (*)();
inline find_trace& trace_of_environment() noexcept {
    static find_trace found = nullptr;
    return found;
}

// A communicator's trace, and the hook of the user that is called besides.
struct tracer {
    std::shared_ptr<trace_place> place;
    std::unique_ptr<communicator_trace> its;
    operation_hook hook;

    static void see(void* self, const operation_event& e) {
        auto& mine = *static_cast<tracer*>(self);
        mine.its->note(e);
        if (mine.hook) mine.hook.function(mine.hook.context, e);
    }
    // Null: nothing is traced.
    static std::unique_ptr<tracer> make(const recorded_communicator& of, const report_options& options) {
        std::shared_ptr<trace_place> place = options.trace;
        if (place == nullptr && trace_of_environment() != nullptr) place = trace_of_environment()();
        if (place == nullptr) return nullptr;
        std::unique_ptr<communicator_trace> its = place->open(of, options.job);
        if (its == nullptr) return nullptr;
        return std::unique_ptr<tracer>(new tracer{std::move(place), std::move(its), options.hook});
    }
};

} // namespace detail
} // namespace bough

#endif
