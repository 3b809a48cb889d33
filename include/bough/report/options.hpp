// SPDX-License-Identifier: BSL-1.0
// report_options: what a communicator records and reports, and to whom.
//
//   bough::communicator comm{link, {.report = {
//       .file = bough::recording_file("/run/job/3.bough"),            // bough doctor reads it at any time
//       .on_failure = bough::report_to_file("/var/log/job.reports"),
//       .on_signal = SIGUSR1}}};
// Communicators that duplicate() and split() make have the same options.
#ifndef BOUGH_REPORT_OPTIONS_HPP
#define BOUGH_REPORT_OPTIONS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bough::inline BOUGH_ABI {

class rank_report;
class trace_place;

// Who gets a report: a function, or what report_to_file(), report_to() and merge_reports_in()
// (bough/report.hpp) make. It is called by the thread whose call has failed or waits, with no lock
// held. It must make no call on the communicator, and must not throw.
struct report_sink {
    void (*function)(const report_sink& self, const rank_report& made) = nullptr; // null: nobody
    void* context = nullptr;
    std::string name{};

    explicit operator bool() const noexcept { return function != nullptr; }
};

// A thing that happens to an operation.
struct operation_event {
    enum class kind : std::uint8_t {
        start,     // the call has started
        sent,      // the transport has accepted a message of it
        arrived,   // a message for it has come
        combined,  // ... and all that could be done with it has been done
        completed, // a message that had been accepted has gone, or one that had come has been copied
        end,       // it has ended; `code` says how
    };
    kind what = kind::start;
    errc code = errc::ok;
    std::uint16_t context = 0;            // the communicator
    std::uint32_t number = 0;             // of the call
    const call_signature* call = nullptr; // collective, count, type, op, root, plan
    std::uint32_t element_bytes = 0;
    std::uint32_t step = 0;  // of this rank's schedule
    rank_t peer = no_rank;   // of the transport
    std::uint64_t bytes = 0; // of the message
};

// A function of yours that is called at the start, at each step that moves a message, and at the end
// of every operation of a communicator. It runs inside the library: it must be short, must not throw,
// and must call nothing of bough. With a hook, no operation runs straight (doc/short_calls.md).
struct operation_hook {
    void (*function)(void* context, const operation_event& e) = nullptr; // null: none
    void* context = nullptr;

    explicit operator bool() const noexcept { return function != nullptr; }
};

// Memory for recordings that outlives the process; recording_file() makes one.
class recording_place {
public:
    virtual ~recording_place() = default;
    // So many zero bytes, aligned to 64, until give_back(). Null: there is no room.
    virtual std::byte* take(std::size_t bytes) = 0;
    // What is there stays readable until others need the room.
    virtual void give_back(std::byte* memory, std::size_t bytes) noexcept = 0;
};

// What is recorded, where, and who hears of it.
struct report_options {
    // How many of its latest calls a communicator remembers, at least 1; rounded up to a power of two,
    // 16 or more. Each takes 64 bytes.
    std::uint32_t calls = 64;
    // Where they are recorded: recording_file() (bough/report/recording_file.hpp); null: in memory of
    // this process.
    std::shared_ptr<recording_place> file{};
    // A number that all ranks of a job share and other jobs do not have. Reports of different jobs are
    // never merged. 0: not known.
    std::uint64_t job = 0;
    // Gets a report when a deadline, or another failure, ends an operation.
    report_sink on_failure{};
    // This signal asks for a report, by a call that waits, or by progress(); 0: none. It goes to
    // `signalled`, or to on_failure if there is none.
    int on_signal = 0;
    report_sink signalled{};
    operation_hook hook{};
    // Where every call and every message is written: trace_file() (bough/report/trace_file.hpp). Null: what
    // the environment variable BOUGH_TRACE says, or nowhere. A trace costs what a hook costs, and a write.
    std::shared_ptr<trace_place> trace{};
};

} // namespace bough

#endif
